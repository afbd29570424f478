"""How long does it take? The share of arrivals that have come by each age."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.types import Floats

POINTS = 40
"""Points of a delay curve."""


class DelayCurve(NamedTuple):
    """The ages by which growing shares of the arrivals have come; empty where nothing came."""

    ages: list[float]
    shares: list[float]

    def age(self, share: float) -> float | None:
        """Return the age by which a share has come, to the next point; None where nothing came."""
        points = zip(self.ages, self.shares, strict=True)
        return next((age for age, reached in points if reached >= share - 1e-9), None)


def delay_curve(edges: Floats, by_age: Floats) -> DelayCurve:
    """Return the quantiles of the ages at which something arrived.

    `by_age` is how much has come by each of the edges; within a bin, arrivals are spread evenly.

    >>> curve = delay_curve(np.array([1.0, 2.0, 4.0]), np.array([0.0, 0.5, 0.5]))
    >>> curve.age(0.5), curve.age(0.9)
    (1.5, 1.9)
    """
    total = by_age[-1] if by_age.size else 0.0
    if not total > 0.0:
        return DelayCurve([], [])
    shares = (np.arange(POINTS) + 1) / POINTS
    ends = np.minimum(np.searchsorted(by_age, shares * total), by_age.size - 1)
    low, begin = np.where(ends > 0, by_age[ends - 1], 0.0), np.where(ends > 0, edges[ends - 1], 0.0)
    inside = (shares * total - low) / (by_age[ends] - low)
    ages = begin + (edges[ends] - begin) * np.minimum(1.0, inside)
    return DelayCurve(ages.tolist(), shares.tolist())
