// NSD-Adaptive: NSD-PSRL-CP with a residual for what the signals do not explain, and a theta that
// is forgotten where it moves.

#pragma once

#include "moving_theta.hpp"
#include "psrl_cp.hpp"
#include "residual.hpp"

namespace {

struct NsdAdaptive {
    NsdPsrlCp base;
    Residual residual;
    MovingTheta moving;
    int32_t counts[MOST_SIGNALS], sums[MOST_SIGNALS];

    explicit NsdAdaptive(const World &world) : base(world), residual(world), moving(world) {}

    int choose(int t, Sfc64 &rng) {
        if (moving.moves(residual.evidence)) {
            moving.draw(counts, sums, rng);
            base.sample(t, counts, sums, rng);
            return argmax(base.values, base.runs.actions, rng);
        }
        base.sample(t, base.counts, base.sums, rng);
        if (residual.doubted()) {
            for (int a = 0; a < base.runs.actions; ++a) {
                const double luck = normal(rng);
                if (!base.fresh[a]) base.values[a] += residual.mean[a] + residual.deviation[a] * luck;
            }
        }
        return argmax(base.values, base.runs.actions, rng);
    }
    void observe(int t, int action, int signal) {
        residual.segments[action].seen[signal] += 1;
        if (base.runs.observe(t, action, signal)) {
            const RunLengths::Action &own = base.runs.of[action];
            residual.close(action, own.start[0], own);
        }
        residual.update(action, base.counts, base.sums);
    }
    void credit(int t, int action, int signal, int reward) {
        residual.credit(t, action, signal, reward, base.counts, base.sums);
        moving.credit(t, signal, reward, base.counts[signal], base.sums[signal]);
        base.credit(t, action, signal, reward);
    }
};

}  // namespace
