"""Confidence intervals of a mean over runs."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from foretell.errors import InvalidInput
from foretell.types import Floats


@cache
def student_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t, by bisection on its integrated density.

    >>> round(student_quantile(0.975, 49), 4)
    2.0096
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)

    # With x = sqrt(freedom) tan(angle) the density is proportional to cos(angle)^(freedom - 1).
    def mass(angle: float) -> float:
        return float(angle / 2 * weights @ np.cos(angle / 2 * (nodes + 1)) ** (freedom - 1))

    wanted = abs(probability - 0.5) * 2 * mass(math.pi / 2)
    low, high = 0.0, math.pi / 2
    for _ in range(200):
        middle = (low + high) / 2
        if mass(middle) < wanted:
            low = middle
        else:
            high = middle
    return math.copysign(math.sqrt(freedom) * math.tan((low + high) / 2), probability - 0.5)


def mean_interval(samples: Floats, level: float = 0.95) -> Floats:
    """Return the Student interval of the mean over the first axis, stacked as (2, …).

    With a single sample there is none: both ends are NaN.
    """
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"the level of an interval must lie in (0, 1), got {level}: try 0.95")
    runs = len(samples)
    mean = samples.mean(axis=0)
    if runs == 1:
        return np.stack([np.full_like(mean, np.nan)] * 2)
    half = student_quantile(0.5 + level / 2, runs - 1) * samples.std(axis=0, ddof=1)
    half = half / math.sqrt(runs)
    return np.stack([mean - half, mean + half])
