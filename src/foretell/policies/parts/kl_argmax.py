"""The action of largest KL-UCB index, without solving for the index of every action.

An index max{q : kl(mean, q) <= level} takes a few steps of Newton's method. Most actions are out
of the question already by

    kl(p, q) = ∫ (x − p) / (x (1 − x)) dx over [p, q]  >=  (q − p)² / (2 max x (1 − x))

which needs no logarithm: where the right side at the best index found so far exceeds the level, the
index lies below it. The divergence itself settles most others. What is chosen is what `argmax` of
all indices chooses, to the same tie.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.bernoulli_kl import bernoulli_kl, kl_upper

if TYPE_CHECKING:
    import numpy as np

    from foretell.types import Bools, Floats

MARGIN = 1e-9
"""An index is skipped only if it is smaller than the best by this much: far more than a tie."""


@kernel
def kl_bound(mean: float, level: float) -> float:
    """Return max{q : kl(mean, q) <= level}, +inf where the level is."""
    return math.inf if level == math.inf else kl_upper(mean, level)


@kernel
def is_below(mean: float, level: float, target: float) -> bool:
    """Return whether max{q : kl(mean, q) <= level} is certainly below the target."""
    distance = target - mean
    if distance <= 0.0:
        return False
    widest = 0.25
    if target < 0.5:
        widest = target * (1.0 - target)
    elif mean > 0.5:
        widest = mean * (1.0 - mean)
    if distance * distance > 2.0 * widest * level:
        return True
    return level < math.inf and bernoulli_kl(mean, target) > level


@kernel
def kl_argmax(means: Floats, levels: Floats, eligible: Bools, rng: np.random.Generator) -> int:
    """Return the eligible action of largest index, ties at random; `means` is overwritten.

    The level of an action is what its divergence may reach: +inf where it has no reward yet.
    """
    first = -1
    for action in range(means.size):
        if eligible[action] and (
            first < 0
            or levels[action] == math.inf
            or (means[action] > means[first] and levels[first] < math.inf)
        ):
            first = action
    best = means[first] = kl_bound(means[first], levels[first])
    for action in range(means.size):
        if not eligible[action] or action == first:
            continue
        if is_below(means[action], levels[action], best - MARGIN):
            means[action] = -math.inf
        else:
            means[action] = kl_bound(means[action], levels[action])
            best = max(best, means[action])
    return argmax(means, eligible, rng)
