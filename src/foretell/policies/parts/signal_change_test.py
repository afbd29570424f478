"""Has the law of a stream of signals changed, and where? A mixture test that needs no horizon.

For counts C of S signals let KT(C) be the mixture of [Krichevsky1981] and ML(C) the largest
likelihood. For a split at j of n the statistic is

    ln KT(first j) + ln KT(rest) − ln ML(all) − ln(j (j + 1))

maximised over the splits of a geometric grid. While the law is constant each split's mixture over
the likelihood is a test martingale and the weights 1 / (j (j + 1)) sum to 1, so by Ville's
inequality the statistic ever reaches ln(1 / delta) with probability delta at most.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.prefix_grid import GRID_WIDTH, PrefixGrid, grid_before
from foretell.types import Floats

MOST_KEPT = 2**14


class LogGammas(NamedTuple):
    """Logarithms of the gamma function, looked up: the test needs S of them per split."""

    half: Floats
    """ln Gamma(i + 1/2)"""
    whole: Floats
    """ln Gamma(i + S/2)"""
    constant: float
    """ln Gamma(S/2) − S ln Gamma(1/2)"""


@lru_cache(maxsize=16)
def log_gammas(signals: int, longest: int | None) -> LogGammas:
    """Make the tables for streams of at most `longest` signals (None: any number)."""
    size = MOST_KEPT if longest is None else min(MOST_KEPT, longest + 1)
    half = np.array([math.lgamma(i + 0.5) for i in range(size)])
    whole = np.array([math.lgamma(i + 0.5 * signals) for i in range(size)])
    return LogGammas(half, whole, math.lgamma(0.5 * signals) - signals * math.lgamma(0.5))


@kernel
def stirling(x: float) -> float:
    """Return ln Gamma(x) for a large x: the series is exact to the last digits from 100 on."""
    tail = (1.0 / 12.0 - 1.0 / (360.0 * x * x)) / x
    return (x - 0.5) * math.log(x) - x + 0.5 * math.log(2.0 * math.pi) + tail


@kernel
def log_gamma(table: Floats, index: int, offset: float) -> float:
    """Return ln Gamma(index + offset), from the table where it reaches."""
    if index < table.size:
        return table[index]
    return stirling(index + offset)


@kernel
def change_statistic(grid: PrefixGrid, stream: int, gammas: LogGammas) -> float:
    """Return the largest statistic over the splits of the grid, −inf while there is none."""
    length = grid.length[stream]
    signals = grid.total.shape[1]
    likelihood = 0.0
    for signal in range(signals):
        count = grid.total[stream, signal]
        if count > 0:
            likelihood += count * math.log(count / length)
    best = -math.inf
    moment, level = grid_before(length, length, 0)
    while moment > 0:
        index = (moment >> level) % GRID_WIDTH
        mixture = 2.0 * gammas.constant
        mixture -= log_gamma(gammas.whole, moment, 0.5 * signals)
        mixture -= log_gamma(gammas.whole, length - moment, 0.5 * signals)
        for signal in range(signals):
            before = grid.kept[stream, level, index, signal]
            mixture += log_gamma(gammas.half, before, 0.5)
            mixture += log_gamma(gammas.half, grid.total[stream, signal] - before, 0.5)
        best = max(best, mixture - math.log(moment * (moment + 1.0)))
        moment, level = grid_before(length, moment, level)
    return best - likelihood


@kernel
def likeliest_split(grid: PrefixGrid, stream: int, gammas: LogGammas) -> tuple[int, int, int]:
    """Return the split with the largest statistic, and the level and index of its totals.

    It is the likeliest moment of the change, given that there was one. What all splits share is
    left out of the statistic.
    """
    length = grid.length[stream]
    signals = grid.total.shape[1]
    best = -math.inf
    best_moment, best_level, best_index = 0, 0, 0
    moment, level = grid_before(length, length, 0)
    while moment > 0:
        index = (moment >> level) % GRID_WIDTH
        mixture = -log_gamma(gammas.whole, moment, 0.5 * signals)
        mixture -= log_gamma(gammas.whole, length - moment, 0.5 * signals)
        for signal in range(signals):
            before = grid.kept[stream, level, index, signal]
            mixture += log_gamma(gammas.half, before, 0.5)
            mixture += log_gamma(gammas.half, grid.total[stream, signal] - before, 0.5)
        mixture -= math.log(moment * (moment + 1.0))
        if mixture > best:
            best = mixture
            best_moment, best_level, best_index = moment, level, index
        moment, level = grid_before(length, moment, level)
    return best_moment, best_level, best_index
