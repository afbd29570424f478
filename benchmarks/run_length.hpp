// The filter over when each action last changed: up to 12 hypotheses an action, side by side.
//
// Counts are stored hypothesis by hypothesis within a signal, so that the update of all weights
// is one loop over adjacent numbers.

#pragma once

#include <algorithm>

#include "world.hpp"

namespace {

constexpr int HYPOTHESES = 12, NONE = -1;
constexpr double ACTIVE = 0.02, AGE = 20.0, SURE = 0.9;

struct RunLengths {
    struct Action {
        double weight[HYPOTHESES];
        int32_t totals[HYPOTHESES], start[HYPOTHESES], counts[MOST_SIGNALS][HYPOTHESES];
        int32_t used, last, found, pending;
    };
    Action of[MOST_ACTIONS];
    const int actions, signals;
    const double idle;
    int32_t changes = 0, together = 0, apart = 0;
    int64_t watched = 0;
    double fit = 1.0;  // the likelihood of the latest signal, as it was predicted

    RunLengths(const World &world, double idle)
        : actions(world.actions),
          signals(world.signals),
          idle(idle / std::sqrt(static_cast<double>(world.actions))) {
        for (int a = 0; a < actions; ++a) {
            Action &own = of[a];
            clear(own, 0, 0);
            own.weight[0] = 1.0;
            own.used = 1;
            own.last = own.found = 0;
            own.pending = NONE;
        }
    }

    void clear(Action &own, int place, int start) const {
        for (int s = 0; s < signals; ++s) own.counts[s][place] = 0;
        own.totals[place] = 0;
        own.start[place] = start;
        own.weight[place] = 0.0;
    }

    double coupling() const { return (together + 1.0) / (together + apart + 2.0); }

    double resting_rate() const { return changes * (1.0 - coupling()) / (watched + AGE); }

    double kept_share(const Action &own, int t, double rate) const {
        if (t <= own.last) return 1.0;
        const double unseen = idle * std::log((t + AGE) / (own.last + AGE));
        return std::exp(-unseen - rate * (t - own.last));
    }

    // A hypothesis by weight; NONE for a change since the latest signal.
    int draw(const Action &own, int t, double rate, Sfc64 &rng) const {
        const int rest = std::max(0, t - own.last);
        const double bound = rest * (idle / (own.last + AGE) + rate);
        double left = rng.uniform();
        if (left < 1.0 - bound) {
            left /= 1.0 - bound;
        } else {
            const double surely = std::max(0.0, 1.0 - bound), kept = kept_share(own, t, rate);
            if (left >= kept) return NONE;
            left = (left - surely) / (kept - surely);
        }
        for (int place = 0; place < own.used - 1; ++place) {
            left -= own.weight[place];
            if (left < 0.0) return place;
        }
        return own.used - 1;
    }

    int new_place(Action &own, int start) const {
        int place = own.used;
        if (place < HYPOTHESES) {
            own.used = place + 1;
        } else {
            place = 1;
            for (int other = 2; other < HYPOTHESES; ++other) {
                if (own.weight[other] < own.weight[place]) place = other;
            }
        }
        clear(own, place, start);
        return place;
    }

    double normalise(Action &own) const {
        double mass = 0.0;
        int heaviest = 0;
        for (int place = 0; place < own.used; ++place) {
            mass += own.weight[place];
            if (own.weight[place] > own.weight[heaviest]) heaviest = place;
        }
        const double share = 1.0 / mass;
        for (int place = 0; place < own.used; ++place) own.weight[place] *= share;
        if (heaviest == 0) return mass;
        std::swap(own.weight[0], own.weight[heaviest]);
        std::swap(own.totals[0], own.totals[heaviest]);
        std::swap(own.start[0], own.start[heaviest]);
        for (int s = 0; s < signals; ++s) std::swap(own.counts[s][0], own.counts[s][heaviest]);
        return mass;
    }

    // Moves a share of what is older than a change to "it changed then".
    double move(Action &own, int change, double share) const {
        double older = 0.0;
        int empty = NONE;
        for (int place = 0; place < own.used; ++place) {
            if (own.totals[place] == 0) {
                empty = place;
            } else if (own.start[place] < change) {
                older += own.weight[place];
                own.weight[place] *= 1.0 - share;
            }
        }
        if (older == 0.0) return 0.0;
        if (empty == NONE) empty = new_place(own, change);
        own.start[empty] = change;
        own.weight[empty] += share * older;
        normalise(own);
        return older;
    }

    // Whether the action is found to have changed.
    bool settle(Action &own, int t) {
        double younger = 0.0, along = 0.0;
        for (int place = 0; place < own.used; ++place) {
            younger += own.start[place] > own.found ? own.weight[place] : 0.0;
            along += own.start[place] >= own.pending ? own.weight[place] : 0.0;
        }
        if (own.pending != NONE) {
            if (along < 1.0 - SURE) {
                ++apart;
                own.pending = NONE;
            }
            if (along <= SURE) return false;
            ++together;
            own.pending = NONE;
        } else {
            if (younger <= SURE) return false;
            ++changes;
            const int change = own.start[0];
            const double share = coupling();
            for (int a = 0; a < actions; ++a) {
                if (&of[a] == &own) continue;
                const double older = move(of[a], change, share);
                if (older > 0.5 && of[a].pending == NONE) of[a].pending = change;
            }
        }
        own.found = t;
        return true;
    }

    bool observe(int t, int action, int signal) {
        Action &own = of[action];
        const double hazard = (ACTIVE + changes) / (watched + AGE);
        const double kept =
            kept_share(own, t, resting_rate()) * (1.0 - (hazard < 0.5 ? hazard : 0.5));
        if (t > own.last) {
            watched += t - own.last;
            own.last = t;
        }
        const int fresh = own.used > 1 || own.totals[0] > 0 ? new_place(own, t) : NONE;
        const double half = 0.5 * signals;
        int32_t *counts = own.counts[signal];
        for (int place = 0; place < own.used; ++place) own.weight[place] *= kept;
        if (fresh != NONE) own.weight[fresh] = 1.0 - kept;
        for (int place = 0; place < own.used; ++place) {
            own.weight[place] *= (counts[place] + 0.5) / (own.totals[place] + half);
            counts[place] += 1;
            own.totals[place] += 1;
        }
        fit = normalise(own) / (fresh == NONE ? kept : 1.0);
        return settle(own, t);
    }
};

}  // namespace
