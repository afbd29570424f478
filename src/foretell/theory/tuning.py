"""The window that each theorem suggests, and the one that minimises its bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretell.errors import InvalidInput
from foretell.theory.bounds import switching_bound
from foretell.theory.problem_dependent import Probabilities, problem_dependent_bound
from foretell.theory.setting import check_share

if TYPE_CHECKING:
    from foretell.theory.setting import Setting

PRINTED_WINDOW = 1243
"""The window that [Vernade2020, Sec. 5] prints for T = 8000, K = 4, S = 3 and 3 switches."""


@dataclass(frozen=True)
class ExperimentsWindow:
    """The window of the experiments: what is printed, what its formula gives, what was meant."""

    printed: int
    formula: float
    """T^(2/3) (Gamma K S)^(1/3): the order of the regret, taken for a window (erratum E2)."""
    without_log: float
    """(T / Gamma)^(2/3) (K S)^(1/3): Theorem 2's window without its logarithm."""
    theorem: float
    """Theorem 2's window."""
    best: int
    """The minimiser of the bound with explicit constants."""


def theorem_window(setting: Setting) -> float:
    """Return W = (T / Gamma)^(2/3) (K S ln(K T / delta))^(1/3) [Vernade2020, Thm. 2], at most T.

    It minimises `printed_bound` with ln(K T / delta). A law that never changes wants W = T.

    >>> from foretell.theory import Setting
    >>> round(theorem_window(Setting(horizon=8000, actions=4, signals=3, switches=3)))
    1027
    """
    if setting.switches == 0:
        return float(setting.horizon)
    ratio = setting.horizon / setting.switches
    return min(float(setting.horizon), math.cbrt(ratio**2 * _sizes(setting) * _log(setting)))


def printed_bound(setting: Setting, window: float, *, log_of_window: bool = True) -> float:
    """Return W Gamma + 2 T sqrt(K S ln(K W T / delta) / W), as in O(.) of [Vernade2020, Thm. 2].

    With `log_of_window=False` the logarithm is ln(K T / delta), as in the choice of W. The other
    terms do not depend on W. This is an order, not a bound: see `switching_bound` for one.
    """
    if not 0.0 < window < math.inf:
        raise InvalidInput(f"window must be a positive number, got {window}: give rounds")
    logarithm = _log(setting) + (math.log(window) if log_of_window else 0.0)
    root = math.sqrt(_sizes(setting) * logarithm / window)
    return window * setting.switches + 2.0 * setting.horizon * root


def best_window(setting: Setting) -> int:
    """Return the window that minimises the explicit Theorem 2, about twice `theorem_window`.

    Term A is 2 sqrt(2) times the printed one, and W grows with its power 2/3.

    >>> from foretell.theory import Setting
    >>> best_window(Setting(horizon=8000, actions=4, signals=3, switches=3))
    2667
    """
    return switching_bound(setting).window


def gap_window(setting: Setting, smallest_gap: float) -> float:
    """Return sqrt(K S T ln(K T / delta) / (Gamma Delta_min)), at most T [Vernade2020, Sec. 4.3].

    It minimises W Gamma + (K S / Delta_min) (T / W) ln(K T / delta). Printed is
    sqrt(T / Delta_min): Gamma, K, S and the logarithm are back (errata T4, T6).

    >>> from foretell.theory import Setting
    >>> round(gap_window(Setting(horizon=8000, actions=4, signals=3, switches=3), 0.28))
    1204
    """
    check_share("smallest_gap", smallest_gap, "give Delta_min, the smallest gap that is not 0")
    if setting.switches == 0:
        return float(setting.horizon)
    squared = _sizes(setting) * setting.horizon * _log(setting) / setting.switches
    return min(float(setting.horizon), math.sqrt(squared / smallest_gap))


def best_gap_window(setting: Setting, smallest_gap: float, probabilities: Probabilities) -> int:
    """Return the window that minimises the explicit Theorem 3."""
    return problem_dependent_bound(setting, smallest_gap, probabilities).window


def experiments_window(setting: Setting) -> ExperimentsWindow:
    """Compare the window printed in [Vernade2020, Sec. 5] with what `setting` asks for.

    >>> from foretell.theory import Setting
    >>> found = experiments_window(Setting(horizon=8000, actions=4, signals=3, switches=3))
    >>> found.printed, round(found.formula, 1), round(found.without_log, 1), found.best
    (1243, 1320.8, 440.3, 2667)
    """
    if setting.switches == 0:
        raise InvalidInput(
            "the formula of the experiments needs a switch, got switches=0: "
            "a law that never changes wants no window"
        )
    ratio = setting.horizon / setting.switches
    return ExperimentsWindow(
        printed=PRINTED_WINDOW,
        formula=math.cbrt(setting.horizon**2 * setting.switches * _sizes(setting)),
        without_log=math.cbrt(ratio**2 * _sizes(setting)),
        theorem=theorem_window(setting),
        best=best_window(setting),
    )


def _sizes(setting: Setting) -> float:
    return float(setting.actions * setting.signals)


def _log(setting: Setting) -> float:
    return math.log(setting.actions * setting.horizon / setting.delta)
