// NSD-KL-GLR with the options that foretell has by default: a test restarts NSD-KL.

#pragma once

#include "change_test.hpp"
#include "kl.hpp"

namespace {

struct NsdKlGlr {
    static constexpr double ALARM = 0.05, FORCED = 0.25;
    int32_t counts[MOST_ACTIONS][MOST_SIGNALS] = {}, seen[MOST_ACTIONS] = {};
    int32_t ever[MOST_ACTIONS] = {}, rank[MOST_ACTIONS], alarms[MOST_ACTIONS] = {};
    int32_t since[MOST_ACTIONS] = {}, last[MOST_ACTIONS] = {};
    PrefixGrid grid;
    UpperTheta theta;
    double values[MOST_ACTIONS], threshold[MOST_ACTIONS];
    bool open[MOST_ACTIONS];
    Ball balls[MOST_ACTIONS];
    const int actions, signals;
    const double delta;

    NsdKlGlr(const World &world, double delta)
        : grid(world), theta(world.signals, delta), actions(world.actions),
          signals(world.signals), delta(delta) {
        for (int a = 0; a < actions; ++a) {
            rank[a] = 1;
            expect(a);
            balls[a] = {counts[a], theta.upper, signals, 0.0, 0.0};
        }
    }

    int choose(int t, Sfc64 &rng) {
        int stalest = -1;
        for (int a = 0; a < actions; ++a) {
            values[a] = INFINITE;
            open[a] = seen[a] > 0;
            const double patience = std::sqrt(actions * (t - since[a] + 1.0)) / FORCED;
            if (t - last[a] > patience && (stalest < 0 || last[a] < last[stalest])) stalest = a;
        }
        if (stalest >= 0) {
            values[stalest] = INFINITE;
            open[stalest] = false;
        }
        best_candidate(values, open, balls, actions);
        return argmax(values, actions, rng);
    }
    void observe(int t, int action, int signal) {
        last[action] = t + 1;
        grid.add(action, signal);
        counts[action][signal] += 1;
        seen[action] += 1;
        ever[action] += 1;
        if (grid.statistic(action) >= threshold[action]) alarm(action, t + 1);
        resize(action);
    }
    void credit(int, int, int signal, int reward) { theta.credit(signal, reward); }

    void resize(int action) {
        const double e = rank[action];
        balls[action].resize(seen[action], 2.0 * actions * e * (e + 1.0) / delta);
    }
    void expect(int action) {
        const double memory = alarms[action] + 1.0;
        threshold[action] = std::log(actions * memory * (memory + 1.0) / ALARM);
    }
    void restart(int action, int first) {
        grid.forget(action);
        for (int s = 0; s < signals; ++s) counts[action][s] = 0;
        seen[action] = 0;
        alarms[action] += 1;
        rank[action] = alarms[action] + 1;
        since[action] = first;
        expect(action);
    }
    // All forget; the action that raised the alarm keeps the signals after the likeliest change.
    void alarm(int action, int first) {
        int32_t after[MOST_SIGNALS];
        const PrefixGrid::Split split = grid.likeliest(action);
        const int kept = grid.length[action] - split.moment;
        for (int s = 0; s < signals; ++s) after[s] = grid.total[action][s] - split.before[s];
        for (int a = 0; a < actions; ++a) restart(a, first);
        rank[action] = ever[action] - kept + 1;
        seen[action] = kept;
        for (int s = 0; s < signals; ++s) counts[action][s] = after[s];
    }
};

}  // namespace
