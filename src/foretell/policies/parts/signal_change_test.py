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
    split: Floats
    """ln Gamma(i + S/2) + ln(i (i + 1)), from i = 1 on: what a split at i costs."""
    entropy: Floats
    """i ln i, 0 at 0"""
    constant: float
    """ln Gamma(S/2) − S ln Gamma(1/2)"""


@lru_cache(maxsize=16)
def log_gammas(signals: int, longest: int | None) -> LogGammas:
    """Make the tables for streams of at most `longest` signals (None: any number)."""
    size = MOST_KEPT if longest is None else min(MOST_KEPT, longest + 1)
    half = np.array([math.lgamma(i + 0.5) for i in range(size)])
    whole = np.array([math.lgamma(i + 0.5 * signals) for i in range(size)])
    moments = np.arange(size, dtype=np.float64)
    moments[0] = 1.0
    split = whole + np.log(moments * (moments + 1.0))
    constant = math.lgamma(0.5 * signals) - signals * math.lgamma(0.5)
    return LogGammas(half, whole, split, moments * np.log(moments), constant)


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
def split_cost(gammas: LogGammas, moment: int, signals: int) -> float:
    """Return ln Gamma(j + S/2) + ln(j (j + 1)), from the table where it reaches."""
    if moment < gammas.split.size:
        return gammas.split[moment]
    return stirling(moment + 0.5 * signals) + math.log(moment * (moment + 1.0))


@kernel
def log_power(gammas: LogGammas, count: int) -> float:
    """Return n ln n, from the table where it reaches."""
    if count < gammas.entropy.size:
        return gammas.entropy[count]
    return count * math.log(count)


@kernel
def largest_split(grid: PrefixGrid, stream: int, gammas: LogGammas) -> tuple[float, int, int, int]:
    """Return the largest statistic over the splits of the grid, less what all splits share.

    After it come the split, and the level and index of its totals: given that there was a
    change, this is its likeliest moment. Without a split the statistic is −inf.
    """
    length = grid.length[stream]
    signals = grid.total.shape[1]
    best = -math.inf
    best_moment, best_level, best_index = 0, 0, 0
    moment, level = grid_before(length, length, 0)
    while moment > 0:
        index = (moment >> level) % GRID_WIDTH
        mixture = -split_cost(gammas, moment, signals)
        mixture -= log_gamma(gammas.whole, length - moment, 0.5 * signals)
        for signal in range(signals):
            before = grid.kept[stream, level, index, signal]
            mixture += log_gamma(gammas.half, before, 0.5)
            mixture += log_gamma(gammas.half, grid.total[stream, signal] - before, 0.5)
        if mixture > best:
            best = mixture
            best_moment, best_level, best_index = moment, level, index
        moment, level = grid_before(length, moment, level)
    return best, best_moment, best_level, best_index


@kernel
def change_statistic(grid: PrefixGrid, stream: int, gammas: LogGammas) -> float:
    """Return the largest statistic over the splits of the grid, −inf while there is none."""
    likelihood = -log_power(gammas, grid.length[stream])
    for signal in range(grid.total.shape[1]):
        likelihood += log_power(gammas, grid.total[stream, signal])
    best, _, _, _ = largest_split(grid, stream, gammas)
    return best + 2.0 * gammas.constant - likelihood


@kernel
def likeliest_split(grid: PrefixGrid, stream: int, gammas: LogGammas) -> tuple[int, int, int]:
    """Return the split with the largest statistic, and the level and index of its totals."""
    _, moment, level, index = largest_split(grid, stream, gammas)
    return moment, level, index
