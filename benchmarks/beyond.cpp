// Policies that are not in the paper, in its world, as plain loops: each the same algorithm as
// foretell's, with the options that foretell has by default.

#include "adaptive.hpp"
#include "kl.hpp"
#include "kl_glr.hpp"
#include "psrl_cp.hpp"

extern "C" void foretell_loop(int kind, World *world, int, double delta, int runs, uint64_t seed,
                              double *regret) {
    for (int i = 0; i < runs; ++i) {
        const uint64_t own = (seed + i) * 0x9E3779B97F4A7C15u;
        switch (kind) {
            case 4: regret[i] = play<NsdPsrlCp>(*world, own); break;
            case 5: regret[i] = play<NsdKl>(*world, own, delta); break;
            case 6: regret[i] = play<NsdKlGlr>(*world, own, delta); break;
            case 7: regret[i] = play<NsdAdaptive>(*world, own); break;
        }
    }
}
