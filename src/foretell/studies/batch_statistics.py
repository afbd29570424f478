"""Statistics of batches, with intervals over runs: differences, slopes, ratios, spreads.

Policies compared in one call met the same worlds, so every comparison is paired: it is made
within each run, and the interval is over runs. Intervals have the level that decides claims
unless another is asked for.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from foretell.errors import InvalidInput
from foretell.stats.estimate import Estimate
from foretell.studies.claim import LEVEL

if TYPE_CHECKING:
    from foretell.sim import Batch
    from foretell.types import Floats

BOOTSTRAPS = 4000


def difference(one: Batch, other: Batch, level: float = LEVEL) -> Estimate:
    """Return the paired difference of final regret, one − other."""
    return Estimate.of(one.final - other.final, level)


def regret_after(batch: Batch, played: int) -> Floats:
    """(runs,): the regret after this many rounds, 0 for none; they must be a checkpoint."""
    if played == 0:
        return np.zeros(batch.runs)
    written = np.flatnonzero(batch.rounds == played - 1)
    if written.size == 0:
        raise InvalidInput(f"the regret after {played} rounds was not written: add a checkpoint")
    regret: Floats = batch.regret[:, written[0]]
    return regret


def slope(batch: Batch, first: int, last: int) -> Floats:
    """(runs,): the regret per round from round `first` up to, not including, round `last`."""
    return (regret_after(batch, last) - regret_after(batch, first)) / (last - first)


def late_slope(batch: Batch, segments: tuple[int, ...]) -> Floats:
    """(runs,): the regret per round over the last half of each segment, averaged over segments.

    `segments` are the rounds at which segments begin, with the horizon at the end.
    """
    halves = [
        slope(batch, first + (last - first) // 2, last)
        for first, last in itertools.pairwise(segments)
    ]
    mean: Floats = np.mean(halves, axis=0)
    return mean


def bootstrap(statistic: Floats, value: float, level: float = LEVEL) -> Estimate:
    """Return `value` with the percentile interval of its bootstrapped `statistic`."""
    usable = statistic[np.isfinite(statistic)]
    ends = [50.0 * (1.0 - level), 50.0 * (1.0 + level)]
    low, high = np.percentile(usable, ends) if usable.size else (np.nan, np.nan)
    return Estimate(value, float(low), float(high))


def spread_ratio(one: Batch, other: Batch) -> Estimate:
    """Return the ratio of the standard deviations of final regret, by a bootstrap over runs."""
    draw = np.random.default_rng(0).integers(0, one.runs, (BOOTSTRAPS, one.runs))
    with np.errstate(divide="ignore", invalid="ignore"):  # few runs, all drawn the same
        drawn = one.final[draw].std(axis=1, ddof=1) / other.final[draw].std(axis=1, ddof=1)
    return bootstrap(drawn, float(one.final.std(ddof=1) / other.final.std(ddof=1)))


def mean_ratio(one: Floats, other: Floats) -> Estimate:
    """Return the ratio of two paired means, by a bootstrap over runs."""
    draw = np.random.default_rng(0).integers(0, len(one), (BOOTSTRAPS, len(one)))
    drawn = one[draw].mean(axis=1) / other[draw].mean(axis=1)
    return bootstrap(drawn, float(one.mean() / other.mean()))


def line_fit(x: Floats, samples: Floats, level: float = LEVEL) -> Estimate:
    """Return the slope of a least-squares line through (x, samples[run]), over runs."""
    centred = x - x.mean()
    slopes: Floats = samples @ centred / (centred @ centred)
    return Estimate.of(slopes, level)
