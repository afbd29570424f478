// Has the law of a stream of signals changed? Totals at the moments of a geometric grid.
//
// WIDTH totals a level; every logarithm is looked up.

#pragma once

#include <algorithm>

#include "world.hpp"

namespace {

struct Logs {
    double half[MOST_ROUNDS], whole[MOST_ROUNDS];  // ln Gamma(i + 1/2), ln Gamma(i + S/2)
    double early[MOST_ROUNDS];                     // the second + ln(i (i + 1))
    double times[MOST_ROUNDS];                     // i ln i
    double constant = 0.0;
    int signals = 0;

    void fill(int wanted) {
        if (signals == wanted) return;
        signals = wanted;
        constant = std::lgamma(0.5 * signals) - signals * std::lgamma(0.5);
        for (int i = 0; i < MOST_ROUNDS; ++i) {
            half[i] = std::lgamma(i + 0.5);
            whole[i] = std::lgamma(i + 0.5 * signals);
            early[i] = whole[i] + (i > 0 ? std::log(i * (i + 1.0)) : 0.0);
            times[i] = i > 0 ? i * std::log(static_cast<double>(i)) : 0.0;
        }
    }
};

Logs LOGS;

struct PrefixGrid {
    static constexpr int WIDTH = 8, MOST_LEVELS = 15;
    struct Split {
        int moment;
        const int32_t *before;
    };
    int32_t length[MOST_ACTIONS] = {}, total[MOST_ACTIONS][MOST_SIGNALS] = {};
    int32_t totals[MOST_ACTIONS * MOST_LEVELS * WIDTH * MOST_SIGNALS];  // written, then read
    const int signals;
    int levels = 1;

    explicit PrefixGrid(const World &world) : signals(world.signals) {
        levels = std::max(1, static_cast<int>(std::ceil(std::log2(world.horizon + 1.0))) - 2);
        LOGS.fill(signals);
    }

    int32_t *kept(int stream, int level, int moment) {
        return totals + ((stream * levels + level) * WIDTH + (moment & (WIDTH - 1))) * signals;
    }

    void add(int stream, int signal) {
        total[stream][signal] += 1;
        int moment = ++length[stream];
        for (int level = 0; level < levels; ++level) {
            int32_t *now = kept(stream, level, moment);
            for (int s = 0; s < signals; ++s) now[s] = total[stream][s];
            if (moment & 1) return;
            moment >>= 1;
        }
    }

    // The split that comes next, going back in time; 0 when there is none.
    static int before(int length, int moment, int &level) {
        int following = (moment - 1) >> level << level;
        while (following > 0 && (length >> level) - (following >> level) >= WIDTH) {
            ++level;
            following = (moment - 1) >> level << level;
        }
        return following;
    }

    // The split with the largest mixture, less what all splits share.
    double largest(int stream, Split &best) {
        const int size = length[stream];
        const int32_t *all = total[stream];
        double most = -INFINITE;
        int level = 0;
        for (int moment = before(size, size, level); moment > 0;
             moment = before(size, moment, level)) {
            const int32_t *early = kept(stream, level, moment >> level);
            double mixture = -LOGS.early[moment] - LOGS.whole[size - moment];
            for (int s = 0; s < signals; ++s) {
                mixture += LOGS.half[early[s]] + LOGS.half[all[s] - early[s]];
            }
            if (mixture > most) {
                most = mixture;
                best = {moment, early};
            }
        }
        return most;
    }

    double statistic(int stream) {
        double likelihood = -LOGS.times[length[stream]];
        for (int s = 0; s < signals; ++s) likelihood += LOGS.times[total[stream][s]];
        Split split = {0, nullptr};
        return largest(stream, split) + 2.0 * LOGS.constant - likelihood;
    }

    Split likeliest(int stream) {
        Split split = {0, kept(stream, 0, 0)};
        largest(stream, split);
        return split;
    }

    void forget(int stream) {
        length[stream] = 0;
        for (int s = 0; s < signals; ++s) total[stream][s] = 0;
    }
};

}  // namespace
