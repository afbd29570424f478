"""Theorems 1 and 2 with explicit constants, term by term [Vernade2020, App. B and C]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretell.errors import InvalidInput
from foretell.theory.setting import check_share, effective_window
from foretell.theory.terms import (
    Terms,
    azuma_term,
    delay_term,
    law_term,
    law_terms,
    success,
    theta_term,
)
from foretell.theory.window_search import minimise_window

if TYPE_CHECKING:
    from foretell.theory.setting import Setting


@dataclass(frozen=True)
class Bound(Terms):
    """A promise: with `probability`, the regret after `horizon` rounds is at most `total`."""

    horizon: int
    window: int
    probability: float

    def vacuous(self, largest_gap: float = 1.0) -> bool:
        """Return whether it promises nothing: no regret exceeds T times the largest gap."""
        check_share("largest_gap", largest_gap, "with rewards in [0, 1] no gap exceeds 1")
        return self.total >= self.horizon * largest_gap

    def verdict(self, largest_gap: float = 1.0) -> str:
        """Return the verdict in words.

        >>> from foretell.theory import Setting, switching_bound
        >>> paper = Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500)
        >>> print(switching_bound(paper).verdict(largest_gap=0.42))
        vacuous: the bound, 26536, is not below 8000 rounds times the largest gap 0.42 = 3360
        """
        most = f"{self.horizon} rounds times the largest gap {largest_gap:g}"
        most = f"{most} = {self.horizon * largest_gap:.0f}"
        if self.vacuous(largest_gap):
            return f"vacuous: the bound, {self.total:.0f}, is not below {most}"
        return f"informative: the bound, {self.total:.0f}, is below {most}"


def stationary_bound(setting: Setting, window: int | None = None) -> Bound:
    """Bound the regret of NSD-UCRL2 under a law that never changes [Vernade2020, Thm. 1].

    Reg(T) <= 4 sqrt(K C_W) (T/W blocks of sqrt(W)) + 4 sqrt(S T C_T) + sqrt(T ln(1/delta) / 2)
              + S (D + 1),  with probability 1 - 3 delta;  without a window, W = T.

    >>> from foretell.theory import Setting
    >>> bound = stationary_bound(Setting(horizon=8000, actions=4, signals=3, delay=500))
    >>> {name: round(value) for name, value in bound.by_name().items()}
    {'switching': 0, 'law': 8158, 'theta': 3170, 'azuma': 96, 'delay': 1503}
    """
    if setting.switches:
        raise InvalidInput(
            f"Theorem 1 is for a law that never changes, got switches={setting.switches}: "
            f"use switching_bound"
        )
    return _bound(setting, setting.horizon if window is None else window)


def switching_bound(setting: Setting, window: int | None = None) -> Bound:
    """Bound the regret of NSD-UCRL2 under Gamma_T switches [Vernade2020, Thm. 2].

    Theorem 1 plus W Gamma_T: in the W rounds after a switch the regret is at most 1 a round. The
    counts of term A do not care about switches, so its blocks run over all T rounds, and the first
    W rounds need no charge as their window holds one law only (erratum R12). Without a window, the
    one that minimises the bound is taken.

    >>> from foretell.theory import Setting
    >>> paper = Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500)
    >>> bound = switching_bound(paper)
    >>> bound.window, round(bound.total), bound.vacuous(largest_gap=0.42)
    (2667, 26536, True)
    """
    if window is None:
        window = minimise_window(
            lambda windows: setting.switches * windows + law_terms(setting, windows),
            setting.horizon,
        )
    return _bound(setting, window)


def _bound(setting: Setting, window: int) -> Bound:
    window = effective_window(setting, window)
    return Bound(
        switching=float(setting.switches * window),
        law=law_term(setting, window),
        theta=theta_term(setting),
        azuma=azuma_term(setting),
        delay=delay_term(setting),
        horizon=setting.horizon,
        window=window,
        probability=success(setting),
    )
