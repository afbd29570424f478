"""The least information that lifts a mean to a given value, and the constants it gives directly.

    Kinf(p; v, x) = inf { KL(p, q) : q·v >= x }
                  = max over z >= max v of  sum_s p_s ln((z - v_s) / (z - x))

[Honda2010]; with l = 1 / (z - x) this is the usual sum of ln(1 - l (v_s - x)). Derived in
`docs/explanation/what-is-possible.md`, as is all that follows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.types import Bools, Floats

HALVINGS = 64
"""Halvings of an interval of logarithms after which a root is as sharp as its function."""
FARTHEST = 60.0
"""The largest ln(z - max v) that is searched: beyond it q and p cannot be told apart."""


def kinf(law: Floats, values: Floats, level: float) -> float:
    """Return Kinf(p; v, x): 0 where the mean is x already, inf where no q reaches x.

    >>> round(kinf(np.array([0.1, 0.4, 0.5]), np.array([0.8, 0.4, 0.2]), 0.7), 4)
    1.1481
    >>> kinf(np.array([0.5, 0.5]), np.array([0.2, 0.4]), 0.4)
    inf
    """
    if float(law @ values) >= level:
        return 0.0
    top = float(values.max())
    if top <= level:
        return math.inf
    shown = law > 0.0
    share, below, gap = law[shown], values[shown] - level, top - values[shown]

    def pull(distance: float) -> float:
        return float((share * below / (gap + distance)).sum())

    distance = falling_root(pull, closed=bool(gap.min() > 0.0))
    return mean_log(share, below, gap + distance, top - level + distance)


def mean_log(share: Floats, below: Floats, distance: Floats, whole: float) -> float:
    """Return sum p ln(distance / whole), where distance = whole - below, digits kept at both ends.

    Values near x have a logarithm near 0, which `below` knows; the highest value may have a
    distance that is nothing beside the others, which `distance` knows.
    """
    near = below < 0.5 * whole
    logs = np.empty_like(below)
    logs[near] = np.log1p(-below[near] / whole)
    logs[~near] = np.log(distance[~near] / whole)
    return float((share * logs).sum())


def falling_root(function: Callable[[float], float], *, closed: bool) -> float:
    """Return the d >= 0 at which a function that falls from above 0 crosses it.

    If it is `closed`, d = 0 is allowed and is the answer where the function starts at 0 or less.
    """
    if closed and function(0.0) <= 0.0:
        return 0.0
    low, high = -700.0, FARTHEST
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if function(math.exp(middle)) > 0.0:
            low = middle
        else:
            high = middle
    return math.exp(0.5 * (low + high))


def known_theta_information(law: Floats, theta: Floats, best: float) -> float:
    """Return the information of one play against "this action is best", for who knows theta."""
    return kinf(law, theta, best)


def separate_information(law: Floats, theta: Floats, off: Bools, best: float) -> float:
    """Return I_b: as above, where theta of the `off` signals is learned from this action alone.

    An off signal is split into "seen, rewarded", which has the value 1, and "seen, not rewarded",
    which has the value 0: moving q and theta' together is moving the law of these pairs.
    """
    split = np.concatenate([law[~off], law[off] * theta[off], law[off] * (1.0 - theta[off])])
    count = int(off.sum())
    values = np.concatenate([theta[~off], np.ones(count), np.zeros(count)])
    return kinf(split, values, best)


def rewards_only_information(law: Floats, theta: Floats, best: float) -> float:
    """Return kl(rho_a, rho*), all that a reward says to who does not look at signals."""
    mean = float(law @ theta)
    return kinf(np.array([mean, 1.0 - mean]), np.array([1.0, 0.0]), best)
