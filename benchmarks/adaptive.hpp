// NSD-Adaptive: NSD-PSRL-CP with a residual for what the signals do not explain.

#pragma once

#include "psrl_cp.hpp"
#include "residual.hpp"

namespace {

struct NsdAdaptive {
    NsdPsrlCp base;
    Residual residual;

    explicit NsdAdaptive(const World &world) : base(world), residual(world) {}

    int choose(int t, Sfc64 &rng) {
        base.sample(t, rng);
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
        base.credit(t, action, signal, reward);
    }
};

}  // namespace
