// What all loops share: the world of the paper, random numbers, ties, and rewards that wait.
//
// One uniform each for signal, reward and, where there are ties, the choice, from SFC64; values
// within 1e-12 of the largest are ties; a ring of bytes holds the rewards that wait D rounds.

#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace {

constexpr int MOST_ACTIONS = 64, MOST_SIGNALS = 16, MOST_ROUNDS = 1 << 16;
constexpr double TIE = 1e-12, INFINITE = std::numeric_limits<double>::infinity();

struct Sfc64 {
    uint64_t a, b, c, counter = 1;

    explicit Sfc64(uint64_t seed) : a(seed), b(seed), c(seed) {
        for (int i = 0; i < 12; ++i) next();
    }
    uint64_t next() {
        const uint64_t result = a + b + counter++;
        a = b ^ (b >> 11);
        b = c + (c << 3);
        c = ((c << 24) | (c >> 40)) + result;
        return result;
    }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
};

struct World {
    int actions, signals, segments, horizon, delay;
    const int32_t *rounds;  // (segments + 1): where each begins, closed by the horizon
    const double *law;      // (actions, signals): of round 0
    const double *theta;
};

struct Now {
    double reached[MOST_ACTIONS][MOST_SIGNALS];  // cumulative law
    double gaps[MOST_ACTIONS];
};

// At each change a row takes the law that the row `shift` above it had, as in the paper.
void begin_segment(const World &world, int shift, Now &now) {
    double best = -INFINITE;
    for (int a = 0; a < world.actions; ++a) {
        const double *row = world.law + (a + world.actions - shift) % world.actions * world.signals;
        double reached = 0.0, mean = 0.0;
        for (int s = 0; s < world.signals; ++s) {
            reached += row[s];
            mean += row[s] * world.theta[s];
            now.reached[a][s] = reached;
        }
        now.gaps[a] = mean;
        best = mean > best ? mean : best;
    }
    for (int a = 0; a < world.actions; ++a) now.gaps[a] = best - now.gaps[a];
}

inline int draw_signal(const Now &now, int action, int signals, double uniform) {
    int signal = 0;
    for (int s = 0; s + 1 < signals; ++s) signal += uniform >= now.reached[action][s];
    return signal;
}

inline int argmax(const double *values, int size, Sfc64 &rng) {
    double best = -INFINITE;
    for (int a = 0; a < size; ++a) best = values[a] > best ? values[a] : best;
    int ties = 0, chosen = 0;
    for (int a = 0; a < size; ++a) {
        if (values[a] >= best - TIE) {
            ++ties;
            chosen = a;
        }
    }
    if (ties == 1) return chosen;
    int skip = static_cast<int>(rng.uniform() * ties);
    for (int a = 0; a < size; ++a) {
        if (values[a] >= best - TIE && skip-- == 0) return a;
    }
    return chosen;
}

template <class Policy, class... Options>
double play(const World &world, uint64_t seed, Options... options) {
    static thread_local uint8_t waiting[MOST_ROUNDS][3];
    Policy policy(world, options...);
    Sfc64 rng(seed);
    Now now;
    double regret = 0.0;
    int place = 0, shift = 0;
    for (int segment = 0; segment < world.segments; ++segment) {
        if (segment > 0) shift += 1 + static_cast<int>(rng.uniform() * (world.actions - 1));
        shift %= world.actions;
        begin_segment(world, shift, now);
        for (int t = world.rounds[segment]; t < world.rounds[segment + 1]; ++t) {
            const int action = policy.choose(t, rng);
            const int signal = draw_signal(now, action, world.signals, rng.uniform());
            const int reward = rng.uniform() < world.theta[signal];
            policy.observe(t, action, signal);
            waiting[place][0] = static_cast<uint8_t>(action);
            waiting[place][1] = static_cast<uint8_t>(signal);
            waiting[place][2] = static_cast<uint8_t>(reward);
            place = place == world.delay ? 0 : place + 1;
            if (t >= world.delay) {
                policy.credit(t - world.delay, waiting[place][0], waiting[place][1], waiting[place][2]);
            }
            regret += now.gaps[action];
        }
    }
    return regret;
}

}  // namespace
