// UCB and NSD-UCRL2 in the world of the paper, as a plain loop: what foretell is measured against.
//
// The same algorithms as foretell's: values within 1e-12 of the largest are ties, broken at
// random (one division an index, where the formula has two); the law over a ring of the last W rounds; rewards that wait D rounds in a ring;
// Algorithm 2 on sorted U. The same draws per round: one uniform each for signal, reward and,
// where there are ties, the choice. Nothing is allocated; rings hold bytes, counts 32 bits.
// Sizes are template arguments (0: given at run time), so both kinds of loop can be measured.

#include "world.hpp"

namespace {

template <int K>
struct Ucb {
    int32_t counts[MOST_ACTIONS] = {}, sums[MOST_ACTIONS] = {};
    double values[MOST_ACTIONS];
    const int actions;

    Ucb(const World &world, int, double) : actions(K ? K : world.actions) {}

    int choose(int t, Sfc64 &rng) {
        const double exploration = 2.0 * std::log(t + 1.0);
        const int size = K ? K : actions;
        for (int a = 0; a < size; ++a) {
            const double share = 1.0 / counts[a];
            const double value = sums[a] * share + std::sqrt(exploration * share);
            values[a] = counts[a] == 0 ? INFINITE : value;
        }
        return argmax(values, size, rng);
    }
    void observe(int, int, int) {}
    void credit(int, int action, int, int reward) {
        counts[action] += 1;
        sums[action] += reward;
    }
};

template <int K, int S>
struct NsdUcrl2 {
    int32_t seen[MOST_ACTIONS][MOST_SIGNALS] = {}, plays[MOST_ACTIONS] = {};
    int32_t counts[MOST_SIGNALS] = {}, sums[MOST_SIGNALS] = {};
    int32_t order[MOST_SIGNALS];
    bool ever[MOST_ACTIONS] = {};
    double upper[MOST_SIGNALS], values[MOST_ACTIONS];
    uint8_t ring_action[MOST_ROUNDS], ring_signal[MOST_ROUNDS];
    double law_constant, theta_constant;
    const int actions, signals, window;
    int place = 0, filled = 0;

    NsdUcrl2(const World &world, int window, double delta)
        : actions(K ? K : world.actions), signals(S ? S : world.signals), window(window) {
        const double rounds = world.horizon;
        law_constant = 2.0 * signals * std::log(actions * window * rounds / delta);
        theta_constant = 2.0 * std::log(2.0 * rounds * signals / delta);
        for (int s = 0; s < signals; ++s) order[s] = s;
    }

    void sort_signals(int size) {
        for (int i = 1; i < size; ++i) {
            const int signal = order[i];
            const double value = upper[signal];
            int j = i - 1;
            while (j >= 0 && (upper[order[j]] < value ||
                              (upper[order[j]] == value && order[j] > signal))) {
                order[j + 1] = order[j];
                --j;
            }
            order[j + 1] = signal;
        }
    }

    double optimistic_value(int a, int size) const {
        const double share = 1.0 / plays[a];
        const double radius = std::sqrt(law_constant * share);
        double value = 0.0;
        for (int s = 0; s < size; ++s) value += seen[a][s] * share * upper[s];
        const int best = order[0];
        double moving = std::fmin(0.5 * radius, 1.0 - seen[a][best] * share);
        value += moving * upper[best];
        for (int i = size - 1; i > 0 && moving > 0.0; --i) {
            const double mass = seen[a][order[i]] * share;
            const double taken = moving < mass ? moving : mass;
            value -= taken * upper[order[i]];
            moving -= taken;
        }
        return value;
    }

    int choose(int, Sfc64 &rng) {
        const int rows = K ? K : actions, columns = S ? S : signals;
        for (int s = 0; s < columns; ++s) {
            const double share = 1.0 / (counts[s] > 1 ? counts[s] : 1);
            const double bound = sums[s] * share + std::sqrt(theta_constant * share);
            upper[s] = bound < 1.0 ? bound : 1.0;
        }
        sort_signals(columns);
        for (int a = 0; a < rows; ++a) {
            if (plays[a] > 0) {
                values[a] = optimistic_value(a, columns);
            } else {
                values[a] = ever[a] ? upper[order[0]] : INFINITE;
            }
        }
        return argmax(values, rows, rng);
    }
    void observe(int, int action, int signal) {
        if (filled == window) {
            const int leaving = ring_action[place];
            seen[leaving][ring_signal[place]] -= 1;
            plays[leaving] -= 1;
        } else {
            ++filled;
        }
        ring_action[place] = static_cast<uint8_t>(action);
        ring_signal[place] = static_cast<uint8_t>(signal);
        place = place + 1 == window ? 0 : place + 1;
        seen[action][signal] += 1;
        plays[action] += 1;
        ever[action] = true;
    }
    void credit(int, int, int signal, int reward) {
        counts[signal] += 1;
        sums[signal] += reward;
    }
};

}  // namespace

extern "C" void foretell_loop(int kind, World *world, int window, double delta, int runs,
                              uint64_t seed, double *regret) {
    for (int i = 0; i < runs; ++i) {
        const uint64_t own = (seed + i) * 0x9E3779B97F4A7C15u;
        switch (kind) {
            case 0: regret[i] = play<Ucb<0>>(*world, own, window, delta); break;
            case 1: regret[i] = play<NsdUcrl2<0, 0>>(*world, own, window, delta); break;
            case 2: regret[i] = play<Ucb<4>>(*world, own, window, delta); break;
            case 3: regret[i] = play<NsdUcrl2<4, 3>>(*world, own, window, delta); break;
        }
    }
}
