"""How long does it take? The share of arrivals that have come by each age."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

POINTS = 40
"""Points of a delay curve."""


class DelayCurve(NamedTuple):
    """The ages by which growing shares of the arrivals have come; empty where nothing came."""

    ages: list[float]
    shares: list[float]


def delay_curve(ages: Iterable[float]) -> DelayCurve:
    """Return the quantiles of the ages at which something arrived.

    >>> curve = delay_curve([3.0, 1.0, 2.0, 4.0])
    >>> curve.ages[19], curve.shares[19]
    (2.0, 0.5)
    """
    ordered = sorted(ages)
    shares = [(index + 1) / POINTS for index in range(POINTS)] if ordered else []
    points = [ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in shares]
    return DelayCurve(points, shares)
