"""Theorem 3 with explicit constants: epsilon-bad rounds and the regret of large gaps.

[Vernade2020, App. D], traced in `docs/bounds.md`. Three things differ from the printed proof: a
block holds one more bad round than C / (epsilon / 2)^2, as counts start at 0; the Chernoff bound
is needed at one fixed number of rounds only, so that ln(e / p_min) goes; and the union over the
layers of the peeling, which the paper leaves out, costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from foretell.errors import InvalidInput
from foretell.theory.bounds import Bound
from foretell.theory.radius_constants import law_radius_constants, theta_radius_constant
from foretell.theory.setting import check_share, effective_window
from foretell.theory.terms import success
from foretell.theory.window_search import minimise_window

if TYPE_CHECKING:
    from foretell.theory.setting import Setting
    from foretell.types import Floats, Ints

Probabilities: TypeAlias = float | Sequence[float]
"""p_min for all signals, or one number a signal; inf for a signal that bad actions never show."""

SQUARES = {"literal": 4.0, "tight": 2.0}
"""From a count a / eps^2 to a regret over Delta_min: layers that double, or the exact integral."""
CONSTANTS = {"literal": 4.0, "tight": 1.0}
"""From a count b to a regret."""


@dataclass(frozen=True)
class BadRounds:
    """A promise: with `probability`, at most `total` rounds have a gap of epsilon or more."""

    switching: float
    """All rounds in which the window still holds an older law; the others are T(W)."""
    law: float
    theta: float
    delay: float
    horizon: int
    window: int
    probability: float

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return self.switching + self.law + self.theta + self.delay

    def vacuous(self) -> bool:
        """Return whether the promise is empty: no more than T rounds can be bad."""
        return self.total >= self.horizon


def bad_rounds(
    setting: Setting, epsilon: float, probabilities: Probabilities, window: int | None = None
) -> BadRounds:
    """Bound how often NSD-UCRL2 plays epsilon-bad actions [Vernade2020, Thm. 3, first display].

    W Gamma + ceil(T/W) K (4 C_W / eps^2 + 1) + sum_s 32 C_T / (p_s eps^2) + S (D + 1), with
    probability 1 - 3 delta. The first term counts every round outside T(W) as bad.

    >>> from foretell.theory import Setting
    >>> count = bad_rounds(Setting(horizon=10**7, actions=4, signals=3, switches=3), 0.28, 0.1)
    >>> count.window, round(count.total), count.vacuous()
    (357143, 2684012, False)
    """
    check_share("epsilon", epsilon, "give the gap from which on an action counts as bad")
    inverse, shown = _inverse(setting, probabilities)

    def law(windows: Ints) -> Floats:
        blocks = -(-setting.horizon // windows)
        held = 4.0 * law_radius_constants(setting, windows) / epsilon**2 + 1.0
        bad: Floats = setting.actions * blocks * held
        return bad

    window = _window(setting, window, law)
    return BadRounds(
        switching=float(setting.switches * window),
        law=float(law(np.array([window]))[0]),
        theta=32.0 * theta_radius_constant(setting) * inverse / epsilon**2,
        delay=float(min(setting.horizon, shown * (setting.delay + 1))),
        horizon=setting.horizon,
        window=window,
        probability=success(setting),
    )


def problem_dependent_bound(
    setting: Setting,
    smallest_gap: float,
    probabilities: Probabilities,
    window: int | None = None,
) -> Bound:
    """Bound the regret of NSD-UCRL2 by its gaps [Vernade2020, Thm. 3, second display].

    A count of a / eps^2 + b for every eps gives a regret of 4a / Delta_min + 4b by peeling in
    layers that double (`literal`), of 2a / Delta_min + b by integrating over eps (`tight`). K,
    lost in the printed bound, is back (erratum T4).

    >>> from foretell.theory import Setting
    >>> bound = problem_dependent_bound(
    ...     Setting(horizon=10**7, actions=4, signals=3, switches=3, delay=500), 0.28, 0.1
    ... )
    >>> bound.window, round(bound.total)
    (384616, 2879485)
    """
    check_share("smallest_gap", smallest_gap, "give Delta_min, the smallest gap that is not 0")
    inverse, shown = _inverse(setting, probabilities)
    square = SQUARES[setting.constants] / smallest_gap
    constant = CONSTANTS[setting.constants]

    def law(windows: Ints) -> Floats:
        blocks = -(-setting.horizon // windows)
        radii = law_radius_constants(setting, windows)
        paid: Floats = setting.actions * blocks * (4.0 * square * radii + constant)
        return paid

    window = _window(setting, window, law)
    return Bound(
        switching=float(setting.switches * window),
        law=float(law(np.array([window]))[0]),
        theta=32.0 * square * theta_radius_constant(setting) * inverse,
        azuma=0.0,
        delay=constant * min(setting.horizon, shown * (setting.delay + 1)),
        horizon=setting.horizon,
        window=window,
        probability=success(setting),
    )


def _window(setting: Setting, window: int | None, law: Callable[[Ints], Floats]) -> int:
    if window is not None:
        return effective_window(setting, window)
    return minimise_window(
        lambda windows: setting.switches * windows + law(windows), setting.horizon
    )


def _inverse(setting: Setting, probabilities: Probabilities) -> tuple[float, int]:
    """Return the sum of 1/p over signals, and how many signals bad actions show at all."""
    each = np.asarray(probabilities, np.float64)
    if each.ndim == 0:
        each = np.full(setting.signals, each)
    if each.shape != (setting.signals,):
        raise InvalidInput(
            f"probabilities must be one number or one for each of {setting.signals} signals, "
            f"got {each.size}: give p_min to use the same for all"
        )
    if not np.all((each > 0.0) & ((each <= 1.0) | (each == math.inf))):
        raise InvalidInput(
            f"probabilities must lie in (0, 1], got {each.tolist()}: "
            f"give inf for a signal that bad actions never show"
        )
    return float((1.0 / each).sum()), int(np.isfinite(each).sum())
