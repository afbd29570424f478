"""Has the mean of a stream of rewards changed? The Bernoulli GLR test [Besson2022].

For rewards in [0, 1] and a split at j of n the statistic is

    j kl(mean of the first j, mean of all) + (n − j) kl(mean of the rest, mean of all)

maximised over the splits of a geometric grid (`prefix_grid`; the paper maximises over all), and a
change is declared when it reaches ln(n^1.5 / delta), the threshold of the paper's experiments.
"""

from __future__ import annotations

import math

from foretell.kernel import kernel
from foretell.policies.parts.prefix_grid import GRID_WIDTH, PrefixGrid, grid_before
from foretell.types import GRAIN


@kernel
def entropy(total: float, count: float) -> float:
    """Return count times the entropy of a Bernoulli law with mean total / count."""
    if total <= 0.0 or total >= count:
        return 0.0
    misses = count - total
    return -total * math.log(total / count) - misses * math.log(misses / count)


@kernel
def glr_statistic(grid: PrefixGrid, stream: int) -> float:
    """Return the largest statistic over the splits of the grid; rewards are kept in grains."""
    length = grid.length[stream]
    total = grid.total[stream, 0] / GRAIN
    whole = entropy(total, float(length))
    best = 0.0
    moment, level = grid_before(length, length, 0)
    while moment > 0:
        before = grid.kept[stream, level, (moment >> level) % GRID_WIDTH, 0] / GRAIN
        apart = entropy(before, float(moment)) + entropy(total - before, float(length - moment))
        best = max(best, whole - apart)
        moment, level = grid_before(length, moment, level)
    return best


@kernel
def glr_threshold(length: int, delta: float) -> float:
    """Return ln(n^1.5 / delta)."""
    return 1.5 * math.log(max(1.0, float(length))) - math.log(delta)
