"""What signals and actions are worth: means with 95 % intervals, of rewards in [0, 1]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from foretell.types import GRAIN, Ints

Z = 1.96
"""Standard deviations of a 95 % interval."""


class Worth(NamedTuple):
    """A mean and an interval around it."""

    mean: float
    low: float
    high: float


def worth_of_signal(count: int, grains: int) -> Worth | None:
    """Give the mean of rewards, and Wilson's interval: it holds whatever their spread is.

    >>> worth_of_signal(0, 0) is None
    True
    """
    if count == 0:
        return None
    mean = grains / GRAIN / count
    return _score(mean, mean * (1.0 - mean), count, 0.0, 1.0)


def worth_of_action(seen: Ints, signals: Sequence[Worth | None]) -> Worth | None:
    """Give the mean of the signals' worth as an action shows them; None if one of them is unknown.

    Its interval has two sources: which signals the action shows, and what each is worth.
    """
    shown = [signals[place] for place in np.flatnonzero(seen).tolist()]
    known = [one for one in shown if one is not None]
    if not known or len(known) < len(shown):
        return None
    count = int(seen.sum())
    shares = seen[seen > 0] / count
    means, lows, highs = np.array(known).T
    mean = float(shares @ means)
    ends = [(0.0, 1.0) if one is None else (one.mean, one.mean) for one in signals]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    law = _score(mean, float(shares @ (means - mean) ** 2), count, least, most)
    below = math.hypot(mean - law.low, *(shares * (means - lows)))
    above = math.hypot(law.high - mean, *(shares * (highs - means)))
    return Worth(mean, max(0.0, mean - below), min(1.0, mean + above))


def _score(mean: float, variance: float, count: int, least: float, most: float) -> Worth:
    """Give the interval of a mean of numbers between two bounds by inverting the score test."""
    scale = 1.0 + Z * Z / count
    centre = (mean + Z * Z / (2 * count) * (least + most)) / scale
    spread = max(0.0, variance) / count + (Z * (most - least) / (2 * count)) ** 2
    half = Z * math.sqrt(spread) / scale
    return Worth(mean, min(mean, max(least, centre - half)), max(mean, min(most, centre + half)))
