"""Estimates: a mean and its interval (95 %), over runs or from the counts of a campaign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foretell.stats.intervals import mean_interval
from foretell.types import GRAIN, Floats, Ints

Z = 1.96
"""Standard deviations of a 95 % interval."""


class Estimate(NamedTuple):
    """A mean and its interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: Floats, level: float = 0.95) -> Estimate:
        """Return the mean of one number per run, with its Student interval of this level."""
        low, high = mean_interval(samples, level)
        return cls(float(samples.mean()), float(low), float(high))

    def __str__(self) -> str:
        """Print as `12.3 [11.9, 12.7]`, with as many digits as its size deserves."""
        size = max(abs(self.mean), abs(self.low), abs(self.high))
        digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
        return f"{self.mean:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


def estimate_signal(count: int, grains: int) -> Estimate | None:
    """Return the mean reward of a signal with Wilson's interval, which holds for any spread.

    >>> estimate_signal(0, 0) is None
    True
    """
    if count == 0:
        return None
    mean = grains / GRAIN / count
    return score_interval(mean, mean * (1.0 - mean), count, 0.0, 1.0)


def estimate_mean(count: int, total: float, squares: float) -> Estimate | None:
    """Return the mean of rewards in [0, 1], given their sum and that of their squares.

    The interval is about the mean of what each of them had as its own mean, whatever chose them
    and however that mean moved: their deviations have no drift, and a spread of the means only
    makes them look more uncertain than they are.

    >>> print(estimate_mean(100, 30.0, 30.0))
    0.300 [0.219, 0.396]
    """
    if count == 0:
        return None
    mean = total / count
    return score_interval(mean, squares / count - mean * mean, count, 0.0, 1.0)


def estimate_action(seen: Ints, signals: Sequence[Estimate | None]) -> Estimate | None:
    """Return the mean reward of an action: that of its signals, weighted by how often it has each.

    None if the reward of one of them is unknown. The interval has two sources: which signals the
    action has, and the mean reward of each.
    """
    shown = [signals[signal] for signal in np.flatnonzero(seen).tolist()]
    known = [one for one in shown if one is not None]
    if not known or len(known) < len(shown):
        return None
    count = int(seen.sum())
    shares = seen[seen > 0] / count
    means, lows, highs = np.array(known).T
    mean = float(shares @ means)
    ends = [(0.0, 1.0) if one is None else (one.mean, one.mean) for one in signals]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    law = score_interval(mean, float(shares @ (means - mean) ** 2), count, least, most)
    below = math.hypot(mean - law.low, *(shares * (means - lows)))
    above = math.hypot(law.high - mean, *(shares * (highs - means)))
    return Estimate(mean, max(0.0, mean - below), min(1.0, mean + above))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return how much one mean is above another that was estimated from other numbers [Zou2008].

    >>> print(difference(Estimate(0.5, 0.1, 0.8), Estimate(0.3, 0.0, 0.6)))
    0.200 [-0.300, 0.624]
    """
    mean = one.mean - other.mean
    below = math.hypot(one.mean - one.low, other.high - other.mean)
    above = math.hypot(one.high - one.mean, other.mean - other.low)
    return Estimate(mean, mean - below, mean + above)


def score_interval(
    mean: float, variance: float, count: float, least: float, most: float
) -> Estimate:
    """Return the interval of a mean of numbers between two bounds, by inverting the score test."""
    scale = 1.0 + Z * Z / count
    centre = (mean + Z * Z / (2 * count) * (least + most)) / scale
    spread = max(0.0, variance) / count + (Z * (most - least) / (2 * count)) ** 2
    half = Z * math.sqrt(spread) / scale
    return Estimate(mean, min(mean, max(least, centre - half)), max(mean, min(most, centre + half)))
