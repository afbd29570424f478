"""Evidence that theta moves, from the sums over all changes, without a filter."""

from __future__ import annotations

import math


def kt(hits: list[int]) -> float:
    """Return the probability of a sequence, each predicted as (hits + 1/2) / (n + 1)."""
    product = 1.0
    for n, hit in enumerate(hits):
        share = (sum(hits[:n]) + 0.5) / (n + 1.0)
        product *= share if hit else 1.0 - share
    return product


def evidence_of(rewards: list[tuple[int, int, int]], active: float, age: float) -> float:
    """Return ln E of (round, signal, reward), while no change is found.

    The probability of the rewards of a signal is Z_n = sum over r of Z_{r−1} · (a change before
    reward r, none after) · (the probability of rewards r to n alone), with Z_0 = 1.
    """
    watched = 0
    last: dict[int, int] = {}
    stays: dict[int, list[float]] = {}
    hits: dict[int, list[int]] = {}
    for t, signal, reward in rewards:
        stays.setdefault(signal, []).append(1.0 - active / (watched + age))
        hits.setdefault(signal, []).append(reward)
        watched += t - last.get(signal, 0)
        last[signal] = t
    total = 0.0
    for signal, own in hits.items():
        stay = stays[signal]
        z = [1.0]
        for n in range(1, len(own) + 1):
            z.append(
                sum(
                    z[r - 1]
                    * ((1.0 - stay[r - 1]) if r > 1 else 1.0)
                    * math.prod(stay[r:n])
                    * kt(own[r - 1 : n])
                    for r in range(1, n + 1)
                )
            )
        n, k = len(own), sum(own)
        best = (k / n) ** k * (1.0 - k / n) ** (n - k)
        total += math.log(z[-1]) - math.log(best)
    return total
