// Does theta move? The filter over changes on the rewards of each signal, and the evidence for it.

#pragma once

#include "residual.hpp"

namespace {

struct MovingTheta {
    RunLengths runs;  // of signals in place of actions, and rewards, 0 or 1, in place of signals
    const double level = std::log(1.0 / 0.05);
    double evidence = 0.0;

    explicit MovingTheta(const World &world) : runs(of_rewards(world), 0.0) {}

    static World of_rewards(World world) {
        world.actions = world.signals;
        world.signals = 2;
        return world;
    }

    // `by_action` is the evidence of the residual's test.
    bool moves(double by_action) const { return evidence >= level + std::max(0.0, by_action); }

    // Called before theta, `count` and `sum` of this signal, learns the reward.
    void credit(int t, int signal, int reward, int count, int sum) {
        runs.observe(t, signal, reward);
        evidence += std::log(runs.fit) - (Residual::log_best(sum + reward, count + 1.0) -
                                          Residual::log_best(sum, count));
    }

    // The rewards of each signal since a change that is drawn.
    void draw(int32_t *counts, int32_t *sums, Sfc64 &rng) const {
        for (int s = 0; s < runs.actions; ++s) {
            const RunLengths::Action &own = runs.of[s];
            const int place = runs.draw(own, own.last, 0.0, rng);
            counts[s] = own.totals[place];
            sums[s] = own.counts[1][place];
        }
    }
};

}  // namespace
