"""Tests on paired differences: Wilcoxon's signed ranks [Wilcoxon1945], and Holm's correction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretell.types import Floats, Ints

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]

MOST_EXACT = 50
"""Differences up to which the distribution of the rank sum is exact."""


def signed_rank_test(differences: Floats, alternative: Alternative = "two-sided") -> float:
    """Return the p-value of Wilcoxon's signed-rank test that differences are symmetric about 0.

    With the alternative "less" it is small where they tend to be below 0. Zeros are left out; equal
    sizes share their mean rank. Up to 50 differences the distribution is exact given these ranks;
    beyond, it is normal, with the corrections for ties and for continuity. Where all differences
    are 0, p is 1.

    >>> signed_rank_test(np.array([-1.0, -2.0, -3.0, -4.0, -5.0]))
    0.0625
    """
    kept = differences[differences != 0.0]
    if kept.size == 0:
        return 1.0
    doubled = _doubled_ranks(np.abs(kept))
    positive = int(doubled[kept > 0.0].sum())
    tails = _exact_tails if kept.size <= MOST_EXACT else _normal_tails
    below, above = tails(doubled, positive)
    if alternative == "less":
        return below
    if alternative == "greater":
        return above
    return min(1.0, 2.0 * min(below, above))


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's method [Holm1979]; at level a, those up to a are rejected.

    The probability of any false rejection is then at most a, however the tests depend.

    >>> holm_adjusted([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for index, number in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - index) * p_values[number]))
        adjusted[number] = largest
    return adjusted


def _doubled_ranks(sizes: Floats) -> Ints:
    """Return twice the rank of each size, from 1; equal ones share their mean rank."""
    _, group, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    doubled: Ints = (2 * ends - counts + 1)[group]
    return doubled


def _exact_tails(doubled: Ints, positive: int) -> tuple[float, float]:
    """Return P(sum <= positive) and P(sum >= positive) where each rank has either sign."""
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] += ways[:-rank].copy()
    ways /= 2.0**doubled.size
    return float(ways[: positive + 1].sum()), float(ways[positive:].sum())


def _normal_tails(doubled: Ints, positive: int) -> tuple[float, float]:
    """Return the same by a normal distribution; the variance of tied ranks is theirs."""
    mean = doubled.sum() / 2.0
    deviation = math.sqrt(float((doubled.astype(np.float64) ** 2).sum())) / 2.0
    half_a_rank = 1.0  # ranks are doubled
    below = (positive + half_a_rank - mean) / deviation
    above = (positive - half_a_rank - mean) / deviation
    return min(1.0, _normal(below)), min(1.0, _normal(-above))


def _normal(value: float) -> float:
    return 0.5 * math.erfc(-value / math.sqrt(2.0))
