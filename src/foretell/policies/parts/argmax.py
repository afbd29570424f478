"""The action with the largest value, ties broken at random."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from foretell.kernel import kernel, uniform

if TYPE_CHECKING:
    import numpy as np

    from foretell.types import Bools, Floats

TIE = 1e-12
"""Values this close to the largest are ties: otherwise the rounding of sums would choose."""


@kernel
def argmax(values: Floats, eligible: Bools, rng: np.random.Generator) -> int:
    """Return an eligible action whose value is within TIE of the largest, uniformly at random.

    One pass finds the largest value and the one after it; ties are counted only where these two
    are that close.
    """
    best = -math.inf
    second = -math.inf
    chosen = 0
    for action in range(values.size):
        if eligible[action]:
            value = values[action]
            if value > best:
                second = best
                best = value
                chosen = action
            else:
                second = max(second, value)
    return chosen if second < best - TIE else _random_tie(values, eligible, best, rng)


@kernel
def _random_tie(values: Floats, eligible: Bools, best: float, rng: np.random.Generator) -> int:
    """Return one of the actions within TIE of the best, uniformly at random."""
    ties = 0
    chosen = 0
    for action in range(values.size):
        if eligible[action] and values[action] >= best - TIE:
            ties += 1
            chosen = action
    if ties == 1:
        return chosen
    skip = int(uniform(rng) * ties)
    for action in range(values.size):
        if eligible[action] and values[action] >= best - TIE:
            if skip == 0:
                return action
            skip -= 1
    return chosen


@kernel
def argmax_shares(values: Floats, eligible: Bools) -> None:
    """Replace each value by the probability with which `argmax` gives its action."""
    best = -math.inf
    for action in range(values.size):
        if eligible[action] and values[action] > best:
            best = values[action]
    ties = 0
    for action in range(values.size):
        if eligible[action] and values[action] >= best - TIE:
            values[action] = 1.0
            ties += 1
        else:
            values[action] = 0.0
    for action in range(values.size):
        values[action] /= ties
