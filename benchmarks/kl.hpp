// NSD-KL with the options that foretell has by default: all rounds are remembered.

#pragma once

#include "klmax.hpp"

namespace {

// The rewards of each signal, and the upper bounds that a reward moves.
struct UpperTheta {
    int32_t counts[MOST_SIGNALS] = {}, sums[MOST_SIGNALS] = {};
    double upper[MOST_SIGNALS];
    const double chance;

    UpperTheta(int signals, double delta) : chance(2.0 * signals / delta) {
        for (int s = 0; s < signals; ++s) upper[s] = 1.0;
    }
    void credit(int signal, int reward) {
        const int received = ++counts[signal];
        sums[signal] += reward;
        const double share = 1.0 / received;
        upper[signal] = kl_upper(sums[signal] * share, mixture_level(received, chance) * share);
    }
};

struct NsdKl {
    int32_t counts[MOST_ACTIONS][MOST_SIGNALS] = {}, seen[MOST_ACTIONS] = {};
    UpperTheta theta;
    double values[MOST_ACTIONS];
    bool open[MOST_ACTIONS];
    Ball balls[MOST_ACTIONS];
    const int actions, signals;
    const double chance;

    NsdKl(const World &world, double delta)
        : theta(world.signals, delta), actions(world.actions), signals(world.signals),
          chance(4.0 * world.actions / delta) {
        for (int a = 0; a < actions; ++a) balls[a] = {counts[a], theta.upper, signals, 0.0, 0.0};
    }

    int choose(int, Sfc64 &rng) {
        for (int a = 0; a < actions; ++a) {
            values[a] = INFINITE;
            open[a] = seen[a] > 0;
        }
        best_candidate(values, open, balls, actions);
        return argmax(values, actions, rng);
    }
    void observe(int, int action, int signal) {
        counts[action][signal] += 1;
        seen[action] += 1;
        balls[action].resize(seen[action], chance);
    }
    void credit(int, int, int signal, int reward) { theta.credit(signal, reward); }
};

}  // namespace
