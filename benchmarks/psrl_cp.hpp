// NSD-PSRL-CP with the options that foretell has by default.

#pragma once

#include "gamma.hpp"
#include "run_length.hpp"

namespace {

constexpr double IDLE = 0.15;
constexpr int SHARPNESS = 2;  // laws are drawn nearer to their mean than the posterior is

struct NsdPsrlCp {
    RunLengths runs;
    int32_t counts[MOST_SIGNALS] = {}, sums[MOST_SIGNALS] = {};
    double theta[MOST_SIGNALS], values[MOST_ACTIONS];
    bool fresh[MOST_ACTIONS];  // whether a law was drawn that another action's change suggests

    explicit NsdPsrlCp(const World &world) : runs(world, IDLE) {}

    int choose(int t, Sfc64 &rng) {
        sample(t, counts, sums, rng);
        return argmax(values, runs.actions, rng);
    }
    // Theta is drawn from these rewards.
    void sample(int t, const int32_t *counts, const int32_t *sums, Sfc64 &rng) {
        for (int s = 0; s < runs.signals; ++s) {
            const double hits = gamma(sums[s], rng);
            theta[s] = hits / (hits + gamma(counts[s] - sums[s], rng));
        }
        const double rate = runs.resting_rate();
        for (int a = 0; a < runs.actions; ++a) {
            const RunLengths::Action &own = runs.of[a];
            const int place = runs.draw(own, t, rate, rng);
            double mass = 0.0, value = 0.0;
            for (int s = 0; s < runs.signals; ++s) {
                const double weight = gamma(place >= 0 ? SHARPNESS * own.counts[s][place] : 0, rng);
                mass += weight;
                value += weight * theta[s];
            }
            values[a] = value / mass;
            fresh[a] = own.pending != NONE && place != NONE && own.start[place] >= own.pending;
        }
    }
    void observe(int t, int action, int signal) { runs.observe(t, action, signal); }
    void credit(int, int, int signal, int reward) {
        counts[signal] += 1;
        sums[signal] += reward;
    }
};

}  // namespace
