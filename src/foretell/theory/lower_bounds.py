"""Proposition 1 with an explicit constant: what ignoring the signals must cost.

[Vernade2020, Prop. 1], derived in `docs/bounds.md`. Assumed: rewards in {0, 1} (two signals, worth
0 and 1), segments of equal length up to one round, the law of each drawn independently. Then even
a policy that is told the switches and restarts pays, in a segment of l rounds, the larger of

    c_K min{sqrt(K l), l},  c_K = (1 - 1/K - sqrt(ln(4/3)) / 2) / 4    gaps of min{1, sqrt(K/l)} / 4
    (1 - 1/K) min{l, D + 1}                                            gap 1, no reward seen yet

The first line is the argument of [Auer2002nonstochastic, Thm. 5.1], which has 1/20 for c_K. The
constant 1/27 of [Lattimore2020, Thm. 15.2] is for Gaussian rewards and does not apply on [0, 1].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretell.theory.setting import Setting


@dataclass(frozen=True)
class LowerBound:
    """A threat: for each policy blind to signals some problem costs it `total` on average."""

    learning: float
    """The cost of finding the best action again in every segment."""
    delay: float
    """The cost of the rounds of every segment before its first reward."""
    order: float
    """min{T, sqrt(K (Gamma + 1) T) + (Gamma + 1) D}, the printed form; total >= order / 36."""

    @property
    def total(self) -> float:
        """The larger part: one problem is hard to learn, another slow to show."""
        return max(self.learning, self.delay)


def lower_bound(setting: Setting) -> LowerBound:
    """Bound from below the worst expected regret of a policy that ignores the signals.

    >>> from foretell.theory import Setting
    >>> threat = lower_bound(Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500))
    >>> round(threat.learning, 1), round(threat.delay, 1), round(threat.order, 1)
    (43.1, 1503.0, 2357.8)
    """
    segments = setting.switches + 1
    length, longer = divmod(setting.horizon, segments)
    factor = learning_factor(setting.actions)
    missed = 1.0 - 1.0 / setting.actions
    learning = delay = 0.0
    for rounds, times in ((length, segments - longer), (length + 1, longer)):
        learning += times * factor * min(math.sqrt(setting.actions * rounds), rounds)
        delay += times * missed * min(rounds, setting.delay + 1)
    order = math.sqrt(setting.actions * segments * setting.horizon) + segments * setting.delay
    return LowerBound(learning, delay, min(float(setting.horizon), order))


def learning_factor(actions: int) -> float:
    """Return c_K, at least 1/18.

    >>> round(learning_factor(2), 4), round(learning_factor(4), 4)
    (0.058, 0.1205)
    """
    return 0.25 * (1.0 - 1.0 / actions - 0.5 * math.sqrt(math.log(4.0 / 3.0)))
