"""Confidence bounds that hold at all times at once, without a factor for the number of signals.

    c(n, delta) = ln(1 / delta) + ln(n + 1) / 2 + ln 2

For a fixed vector theta the law of an action satisfies n · inf{KL(p_n, q) : q·theta ≥ p·theta}
≤ c(n, delta) for all n together, with probability 1 − delta and whatever S is; the proof is in
`docs/s-free-bound.md`. With S = 2 it is the bound for one mean reward in [0, 1].
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from foretell.kernel import kernel
from foretell.policies.parts.klmax import klmax, klmax_bound

if TYPE_CHECKING:
    from foretell.types import Floats, Ints


@kernel
def mixture_level(count: float, chance: float) -> float:
    """Return c(n, delta), where `chance` is 1 / delta."""
    return math.log(2.0 * chance * math.sqrt(count + 1.0))


@kernel
def action_level(actions: int, seen: int, rank: float, delta: float) -> float:
    """Return the radius c(N_a, delta / (2 K e (e + 1))) / N_a of an action's ball.

    `rank` is e: which memory of the action this is, or, where a memory did not begin empty, the
    rank of its first signal among all signals of the action.
    """
    return mixture_level(seen, 2.0 * actions * rank * (rank + 1.0) / delta) / seen


@kernel
def with_pending(level: float, seen: int, plays: int) -> float:
    """Let plays whose signal is still to come shrink a ball: N·KL ≤ c counts every play in N.

    So a burst of decisions is spread. Where every signal has been seen nothing changes; until
    then the ball is smaller than the one that is proved to hold the law.
    """
    return level * (seen / plays) if plays > seen else level


@kernel
def best_candidate(values: Floats, levels: Floats, counts: Ints, seen: Ints, upper: Floats) -> None:
    """Turn cheap bounds in `values` into exact indices where these can matter for the maximum.

    An action without a level (a negative one) has its index already. The others end with their
    exact index, or with a bound that is below the largest exact index.
    """
    best = -math.inf
    for action in range(values.size):
        if levels[action] < 0.0:
            best = max(best, values[action])
        else:
            values[action] = klmax_bound(counts, action, seen[action], upper, levels[action])
    while True:
        chosen = -1
        for action in range(values.size):
            open_still = levels[action] >= 0.0 and values[action] >= best - 1e-9
            if open_still and (chosen < 0 or values[action] > values[chosen]):
                chosen = action
        if chosen < 0:
            return
        values[chosen] = klmax(counts, chosen, seen[chosen], upper, levels[chosen])
        levels[chosen] = -1.0
        best = max(best, values[chosen])
