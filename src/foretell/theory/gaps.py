"""The gaps and smallest signal probabilities of known laws, on which Theorem 3 depends.

[Vernade2020, Sec. 4.2]: Delta_{t,a} = rho*_t - rho_t(a); an action is epsilon-bad while its gap is
at least epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretell.errors import InvalidInput
from foretell.theory.setting import check_share

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretell.types import Floats

NO_GAP = 1e-12
"""Gaps up to this are rounding, not regret."""
ROWS, SEGMENTS = 2, 3


@dataclass(frozen=True)
class Difficulty:
    """What makes a problem hard: small gaps, and signals that bad actions seldom show."""

    largest_gap: float
    smallest_gap: float
    """Delta_min, over actions that are not optimal."""
    smallest_probability: float
    """p_min, over actions that are not optimal and signals they can show (erratum T5)."""


def difficulty(laws: npt.ArrayLike, theta: npt.ArrayLike) -> Difficulty:
    """Measure one law (actions, signals), or one a segment (segments, actions, signals).

    >>> table = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
    >>> found = difficulty(table, [0.8, 0.4, 0.2])
    >>> round(found.largest_gap, 2), round(found.smallest_gap, 2), found.smallest_probability
    (0.42, 0.28, 0.1)
    """
    missing = gaps(laws, theta)
    bad = missing[missing > NO_GAP]
    if bad.size == 0:
        raise InvalidInput(
            "no action is ever worse than another, so there is no smallest gap: "
            "give laws under which the choice matters"
        )
    probabilities = bad_probabilities(laws, theta, min(1.0, float(bad.min())))
    return Difficulty(float(bad.max()), float(bad.min()), float(probabilities.min()))


def gaps(laws: npt.ArrayLike, theta: npt.ArrayLike) -> Floats:
    """Return Delta_{t,a} as a (segments, actions) array."""
    laws, theta = checked_laws(laws, theta)
    means = laws @ theta
    missing: Floats = means.max(axis=1, keepdims=True) - means
    return missing


def bad_probabilities(laws: npt.ArrayLike, theta: npt.ArrayLike, epsilon: float) -> Floats:
    """Return p^epsilon_min(s) for each signal, inf for one that no epsilon-bad action can show.

    >>> bad_probabilities([[0.5, 0.5, 0.0], [0.9, 0.1, 0.0]], [1.0, 0.0, 0.0], epsilon=0.4)
    array([0.5, 0.5, inf])
    """
    check_share("epsilon", epsilon, "give the gap from which on an action counts as bad")
    bad = gaps(laws, theta) >= epsilon - NO_GAP
    laws, _ = checked_laws(laws, theta)
    shown = np.where(bad[:, :, None] & (laws > 0.0), laws, np.inf)
    smallest: Floats = shown.min(axis=(0, 1))
    return smallest


def checked_laws(laws: npt.ArrayLike, theta: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return laws as (segments, actions, signals) and theta, refusing what is none."""
    laws = np.asarray(laws, np.float64)
    theta = np.asarray(theta, np.float64)
    if laws.ndim == ROWS:
        laws = laws[None]
    if laws.ndim != SEGMENTS or theta.shape != laws.shape[2:]:
        raise InvalidInput(
            f"laws must be (actions, signals) or (segments, actions, signals) and theta (signals,),"
            f" got shapes {laws.shape} and {theta.shape}: give one mean reward for each signal"
        )
    if laws.shape[1] == 0:
        raise InvalidInput("a law needs at least one action, got none: give a row for each")
    if not (np.all(laws >= 0.0) and np.allclose(laws.sum(axis=2), 1.0, rtol=0.0, atol=1e-9)):
        raise InvalidInput(
            "each row of a law must be probabilities that sum to 1, got one that is not: "
            "give p(signal given action) for every signal"
        )
    if not np.all((theta >= 0.0) & (theta <= 1.0)):
        raise InvalidInput(
            f"theta must lie in [0, 1], got {theta.tolist()}: scale rewards to the unit interval"
        )
    return laws, theta
