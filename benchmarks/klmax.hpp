// KL balls: the upper bound of a mean, the most optimistic law, and which of them must be solved.
//
// The same equations, first guesses and stopping rules as foretell's. One inverse an action
// stands for the divisions by its total; a radius is kept until the action's counts change.

#pragma once

#include <algorithm>

#include "world.hpp"

namespace {

constexpr double SAME = 1e-12, LEAST = -690.0;

inline double mixture_level(double count, double chance) {
    return std::log(2.0 * chance * std::sqrt(count + 1.0));
}

inline double kl_upper(double mean, double level) {
    if (level <= 0.0 || mean >= 1.0) return std::min(1.0, std::max(0.0, mean));
    if (mean <= 0.0) return -std::expm1(-level);
    const double rest = 1.0 - mean;
    const double entropy = -mean * std::log(mean) - rest * std::log(rest);
    double gap = std::max(rest - std::sqrt(0.5 * level), std::exp(-(level + entropy) / rest));
    if (gap == 0.0) return 1.0;
    for (int i = 0; i < 60; ++i) {
        const double upper = 1.0 - gap;
        const double excess = -entropy - mean * std::log(upper) - rest * std::log(gap) - level;
        const double slope = mean / upper - rest / gap;
        if (excess <= 0.0 || slope >= 0.0) break;
        const double step = -excess / slope;
        if (step <= 1e-14 * gap) break;
        gap += step;
    }
    return 1.0 - std::min(gap, rest);
}

struct Ball {
    const int32_t *counts;
    const double *upper;
    int signals;
    double share, level;  // one over the number of signals seen; the radius

    void resize(int seen, double chance) {
        share = 1.0 / seen;
        level = mixture_level(seen, chance) * share;
    }

    struct At {
        double divergence, slope, value;
    };

    At at(double top, double distance) const {
        double logs = 0.0, lost = 0.0, first = 0.0, second = 0.0, gaps = 0.0;
        for (int s = 0; s < signals; ++s) {
            if (counts[s] == 0) continue;
            const double mass = counts[s] * share, gap = std::max(0.0, top - upper[s]);
            double half = 1.0;
            if (gap > 0.0) {
                const double ratio = gap / distance;
                half = 1.0 / (1.0 + ratio);
                logs += mass * std::log1p(ratio);
                lost += mass * ratio * half;
            }
            first += mass * half;
            second += mass * half * half;
            gaps += mass * gap * half;
        }
        logs += lost < 0.5 ? std::log1p(-lost) : std::log(first);
        const double inverse = 1.0 / first;
        return {logs, first - second * inverse, top - gaps * inverse};
    }

    double solve(double top, double mean) const {
        int at_top = 0;
        double nearest = INFINITE, farthest = 0.0, square = 0.0;
        for (int s = 0; s < signals; ++s) {
            if (counts[s] == 0) continue;
            const double gap = top - upper[s];
            square += counts[s] * gap * gap;
            farthest = std::max(farthest, gap);
            if (gap > SAME) {
                nearest = std::min(nearest, gap);
            } else {
                at_top += counts[s];
            }
        }
        const double gap = top - mean, on_top = at_top * share;
        double high = std::log(gap) - std::log(std::expm1(std::min(level, 700.0)));
        double low = std::log(nearest) + (std::log(on_top) - level) / (1.0 - on_top) - 1e-9;
        low = std::max(LEAST, low);
        high = std::max(LEAST, high);
        const double deviation = std::sqrt(std::max(0.0, square * share - gap * gap));
        const double guess = std::max(1e-3 * farthest, deviation / std::sqrt(2.0 * level) - gap);
        double x = std::max(low, std::min(high, std::log(guess))), value = mean;
        for (int i = 0; i < 100; ++i) {
            const At now = at(top, std::exp(x));
            value = now.value;
            const double excess = now.divergence - level;
            (excess > 0.0 ? low : high) = x;
            if (std::abs(excess) <= 1e-12 * level) break;
            if (high - low <= 1e-13 * std::max(1.0, std::abs(x))) break;
            double following = now.slope < 0.0 ? x - excess / now.slope : low;
            if (!(low < following && following < high)) following = 0.5 * (low + high);
            if (following == x) break;
            x = following;
        }
        return value;
    }

    double most(double highest, double lowest) const {
        double top = -INFINITE, bottom = INFINITE, mean = 0.0;
        for (int s = 0; s < signals; ++s) {
            if (counts[s] == 0) continue;
            top = std::max(top, upper[s]);
            bottom = std::min(bottom, upper[s]);
            mean += counts[s] * upper[s];
        }
        mean *= share;
        if (highest - lowest < SAME || level == INFINITE) return highest;
        if (level <= 0.0) return mean;
        if (highest - top > SAME) {
            const At there = at(top, highest - top);
            if (there.divergence < level) {
                return highest + std::exp(there.divergence - level) * (there.value - highest);
            }
        }
        return top - bottom < SAME ? top : solve(top, mean);
    }

    double bound(double highest, double lowest) const {
        double mean = 0.0;
        for (int s = 0; s < signals; ++s) mean += counts[s] * upper[s];
        return std::min(highest, mean * share + (highest - lowest) * std::sqrt(0.5 * level));
    }
};

// Gives every action in `open` its exact index where it can matter for the maximum.
inline void best_candidate(double *values, bool *open, const Ball *balls, int actions) {
    double highest = -INFINITE, lowest = INFINITE, best = -INFINITE;
    for (int s = 0; s < balls[0].signals; ++s) {
        highest = std::max(highest, balls[0].upper[s]);
        lowest = std::min(lowest, balls[0].upper[s]);
    }
    for (int a = 0; a < actions; ++a) {
        if (open[a]) {
            values[a] = balls[a].bound(highest, lowest);
        } else {
            best = std::max(best, values[a]);
        }
    }
    for (;;) {
        int chosen = -1;
        for (int a = 0; a < actions; ++a) {
            const bool still = open[a] && values[a] >= best - 1e-9;
            if (still && (chosen < 0 || values[a] > values[chosen])) chosen = a;
        }
        if (chosen < 0) return;
        values[chosen] = balls[chosen].most(highest, lowest);
        open[chosen] = false;
        best = std::max(best, values[chosen]);
    }
}

}  // namespace
