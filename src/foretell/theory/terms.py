"""The terms of the regret bounds, one function each, with the constants of the corrected proof.

[Vernade2020, App. B], traced in `docs/bounds.md`. All hold together with probability 1 - 3 delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from foretell.theory.radius_constants import law_radius_constants, theta_radius_constant

if TYPE_CHECKING:
    from foretell.theory.setting import Setting
    from foretell.types import Floats, Ints

LAW_FACTOR = {"literal": 2.0, "tight": 1.0}
"""(p~ - p)·U in radii: |p~ - p|_1 |U|_inf as printed, half of it as the difference sums to 0."""


@dataclass(frozen=True)
class Terms:
    """The parts of a regret, promised or measured, under the names of the proof."""

    switching: float
    """Rounds after a switch in which the window still holds an older law, at most 1 each."""
    law: float
    """Term A: not knowing the law."""
    theta: float
    """Term B: not knowing what signals are worth, once rewards arrive."""
    azuma: float
    """Term B: signals drawn against signals expected."""
    delay: float
    """Term B: signals seen before their first rewards arrive."""

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return sum(self.by_name().values())

    def by_name(self) -> dict[str, float]:
        """Return each term under its name, in the order of the proof."""
        return {one.name: getattr(self, one.name) for one in fields(Terms)}


def law_terms(setting: Setting, windows: Ints) -> Floats:
    """Bound term A for many windows: factor · sqrt(C_W) · 2 sqrt(K) · sum over blocks sqrt(length).

    Cut the T rounds into blocks of W. Within one, an action played n times has counts 1, 1, 2, …,
    n - 1, whose inverse roots sum to at most 2 sqrt(n); by Cauchy-Schwarz a block of any length w
    gives at most 2 sqrt(K w) (errata R4, R5). The last block is shorter where W does not divide T.
    """
    blocks, rest = np.divmod(setting.horizon, windows)
    roots = blocks * np.sqrt(windows) + np.sqrt(rest)
    radii = np.sqrt(law_radius_constants(setting, windows))
    factor = LAW_FACTOR[setting.constants] * 2.0 * math.sqrt(setting.actions)
    terms: Floats = factor * radii * roots
    return terms


def law_term(setting: Setting, window: int) -> float:
    """Bound term A for one window, at most the horizon."""
    return float(law_terms(setting, np.array([window]))[0])


def theta_term(setting: Setting) -> float:
    """Bound the width of theta after the first D + 1 sights of each signal: 4 sqrt(S T C).

    U - theta <= 2 sqrt(C / N) (erratum R6), the j-th later sight has N >= j, and the inverse roots
    of 1..n sum to at most 2 sqrt(n).
    """
    return 4.0 * math.sqrt(setting.signals * setting.horizon * theta_radius_constant(setting))


def azuma_term(setting: Setting) -> float:
    """Bound the martingale (p - e)·(U - theta): sqrt(T ln(1/delta) / 2).

    Given the past, each difference lies in an interval of length 1, since 0 <= U - theta <= 1
    (erratum R8); the paper's 2 + 2 sqrt(C) in place of the length is not needed.
    """
    return math.sqrt(0.5 * setting.horizon * math.log(1.0 / setting.delta))


def delay_term(setting: Setting) -> float:
    """Bound the first D + 1 sights of each signal by 1 each: min{T, S (D + 1)}."""
    return float(min(setting.horizon, setting.signals * (setting.delay + 1)))


def success(setting: Setting) -> float:
    """Return the probability with which a bound holds, 1 - 3 delta (erratum T1), at least 0."""
    return max(0.0, 1.0 - 3.0 * setting.delta)
