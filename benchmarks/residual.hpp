// What the signals do not explain: a residual per action and segment, once a test asks for it.
//
// Open segments come first, one an action, then the closed ones, in one array: what looks at all
// of them is one loop. Rewards are 0 or 1, so their sums are whole numbers.

#pragma once

#include <algorithm>

#include "run_length.hpp"

namespace {

struct Residual {
    static constexpr int ARCHIVE = 32, EVERY = 32;
    static constexpr double ALIKE = 0.01, DOUBT = 0.3, FEW = 8.0, FLOOR = 0.02, LEAST_VARIANCE = 1e-4;
    struct Segment {
        int32_t seen[MOST_SIGNALS] = {}, received[MOST_SIGNALS] = {}, sums[MOST_SIGNALS] = {};
        int32_t action = 0, first = -1;
        double told = 0.0, excess = 0.0;
    };
    Segment segments[MOST_ACTIONS + ARCHIVE];
    double mean[MOST_ACTIONS] = {}, deviation[MOST_ACTIONS] = {};
    const int actions, signals;
    const double level = std::log(1.0 / 0.05);
    double evidence = 0.0, most = 0.0, spread = 0.0, spread_alike = 0.0;
    int32_t closed = 0, rewards = 0, looked = -EVERY;

    explicit Residual(const World &world) : actions(world.actions), signals(world.signals) {
        for (int a = 0; a < actions; ++a) segments[a].first = 0;
    }

    bool doubted() const { return most >= level; }

    static double log_best(double total, double received) {
        if (total <= 0.0 || total >= received) return 0.0;
        const double share = total / received;
        return total * std::log(share) + (received - total) * std::log1p(-share);
    }

    // The segment that round t of an action belongs to; null where it is no longer remembered.
    Segment *find(int t, int action) {
        if (t >= segments[action].first) return segments + action;
        Segment *found = nullptr;
        for (Segment *past = segments + actions; past < segments + actions + ARCHIVE; ++past) {
            if (past->action != action || past->first < 0 || past->first > t) continue;
            if (!found || past->first > found->first) found = past;
        }
        return found;
    }

    // Called before theta, `counts` and `sums`, learns the reward.
    void credit(int t, int action, int signal, int reward, const int32_t *counts,
                const int32_t *sums) {
        ++rewards;
        Segment *own = find(t, action);
        if (!own) return;
        const double share = (own->sums[signal] + 0.5) / (own->received[signal] + 1.0);
        const double total = sums[signal], received = counts[signal];
        evidence += (reward ? std::log(share) : std::log1p(-share)) -
                    (log_best(total + reward, received + 1.0) - log_best(total, received));
        most = std::max(most, evidence);
        own->received[signal] += 1;
        own->sums[signal] += reward;
    }

    // The law of an action changed in round `first`; `counts` are the signals seen since.
    void close(int action, int first, const RunLengths::Action &runs) {
        Segment &own = segments[action], &past = segments[actions + closed++ % ARCHIVE];
        past = own;
        past.action = action;
        own = Segment();
        own.first = first;
        for (int s = 0; s < signals; ++s) {
            own.seen[s] = std::min(runs.counts[s][0], past.seen[s]);
            past.seen[s] -= own.seen[s];
        }
    }

    void look(Segment &own, const int32_t *counts, const int32_t *sums) const {
        own.told = own.excess = 0.0;
        for (int s = 0; s < signals; ++s) {
            if (own.received[s] == 0) continue;
            own.told += own.received[s];
            own.excess += own.sums[s] - own.received[s] * (static_cast<double>(sums[s]) / counts[s]);
        }
        own.excess /= std::max(1.0, own.told);
    }

    double likeness(const Segment &one, const Segment &other) const {
        double n = 0.5 * signals, m = n, distance = 0.0;
        for (int s = 0; s < signals; ++s) {
            n += one.seen[s];
            m += other.seen[s];
        }
        n = 1.0 / n;
        m = 1.0 / m;
        for (int s = 0; s < signals; ++s) {
            const double gap = (one.seen[s] + 0.5) * n - (other.seen[s] + 0.5) * m;
            distance += gap * gap;
        }
        const double width = ALIKE + 0.5 * n + 0.5 * m;
        return std::exp(-0.5 * distance / width) * ALIKE / width;
    }

    // The mean of a segment's residual as the others predict it, and how much speaks for it.
    double foresee(int index, double noise, double &weight) const {
        const double reliable = noise / std::max(spread, LEAST_VARIANCE);
        double total = 0.0;
        weight = 0.0;
        for (int i = 0; i < actions + ARCHIVE; ++i) {
            const Segment &other = segments[i];
            if (other.told < FEW || i == index) continue;
            const double alike =
                likeness(segments[index], other) * other.told / (other.told + reliable);
            weight += alike;
            total += alike * other.excess;
        }
        return total / (weight + DOUBT);
    }

    void learn_spread(double noise) {
        double mass[2] = {}, total[2] = {};
        for (int step = 0; step < 2; ++step) {
            for (int i = 0; i < actions + ARCHIVE; ++i) {
                if (segments[i].told < FEW) continue;
                double prior = 0.0, weight = 1.0;
                if (step == 1) prior = foresee(i, noise, weight);
                const double variance = noise / segments[i].told;
                const double miss = segments[i].excess - prior;
                weight /= variance + 0.01;
                mass[step] += weight;
                total[step] += weight * (miss * miss - variance);
            }
            double &learned = step == 0 ? spread : spread_alike;
            if (mass[step] > 0.0) {
                learned = std::max(LEAST_VARIANCE, total[step] / mass[step]);
            } else if (step == 1) {
                learned = spread;
            }
        }
        spread_alike = std::min(spread, spread_alike);
    }

    void predict(int action, double noise) {
        const Segment &own = segments[action];
        double weight, plays = 0.0;
        const double prior = foresee(action, noise, weight);
        const double variance = (DOUBT * spread + weight * spread_alike) / (DOUBT + weight);
        const double precision = 1.0 / std::max(LEAST_VARIANCE, variance);
        for (int s = 0; s < signals; ++s) plays += own.seen[s];
        const double told = own.told / noise;
        mean[action] = (precision * prior + told * own.excess) / (precision + told);
        deviation[action] = std::sqrt(1.0 / (precision + std::max(plays, own.told) / noise));
    }

    // Predicts the residual of an action that was just seen, now and then of all of them.
    void update(int action, const int32_t *counts, const int32_t *sums) {
        if (!doubted()) return;
        double total = 0.0, received = 0.0;
        for (int s = 0; s < signals; ++s) {
            total += sums[s];
            received += counts[s];
        }
        const double share = total / std::max(1.0, received);
        const double noise = std::max(FLOOR, share * (1.0 - share));
        if (rewards - looked < EVERY) {
            look(segments[action], counts, sums);
            predict(action, noise);
            return;
        }
        looked = rewards;
        for (int i = 0; i < actions + ARCHIVE; ++i) look(segments[i], counts, sums);
        learn_spread(noise);
        for (int a = 0; a < actions; ++a) predict(a, noise);
    }
};

}  // namespace
