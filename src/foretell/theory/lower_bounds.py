"""What no policy can avoid in the worst problem of its size, with signals and without.

[Vernade2020, Prop. 1] with an explicit constant, derived in `docs/bounds.md`, is about policies
that ignore the signals. Assumed: rewards in {0, 1} (two signals, worth
0 and 1), segments of equal length up to one round, the law of each drawn independently. Then even
a policy that is told the switches and restarts pays, in a segment of l rounds, the larger of

    c_K min{sqrt(K l), l},  c_K = (1 - 1/K - sqrt(ln(4/3)) / 2) / 4    gaps of min{1, sqrt(K/l)} / 4
    (1 - 1/K) min{l, D + 1}                                            gap 1, no reward seen yet

The first line is the argument of [Auer2002nonstochastic, Thm. 5.1], which has 1/20 for c_K. The
constant 1/27 of [Lattimore2020, Thm. 15.2] is for Gaussian rewards and does not apply on [0, 1].

Signals help against the second line alone, and not where a segment has signals never seen before:
`minimax_lower_bound`, derived in `docs/explanation/what-is-possible.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretell.theory.setting import Setting


@dataclass(frozen=True)
class LowerBound:
    """A threat: for each policy of a kind some problem costs it `total` on average."""

    learning: float
    """The cost of finding the best action again in every segment."""
    delay: float
    """The cost of the rounds before the first reward, of every segment that can hide its best."""
    order: float
    """min{T, sqrt(K (Gamma + 1) T) + n D}, total >= order / 36; n is Gamma + 1 for policies that
    ignore the signals, min{S, Gamma + 1} for others."""

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
    blind = min(setting.horizon, segments * (setting.delay + 1))
    missed = 1.0 - 1.0 / setting.actions
    return LowerBound(_learning(setting), missed * blind, _order(setting, segments))


def minimax_lower_bound(setting: Setting) -> LowerBound:
    """Bound from below the worst expected regret of every policy, whatever it uses.

    In one problem the signal is the reward, and finding the best action again in every segment
    costs what it costs without delay. The other has min{S // 2, Gamma + 1} segments with two fresh
    signals each, and a coin says which is worth 1: the first D + 1 rounds of each cost 1/2.

    >>> from foretell.theory import Setting
    >>> threat = minimax_lower_bound(
    ...     Setting(horizon=8000, actions=4, signals=8, switches=3, delay=500)
    ... )
    >>> round(threat.learning, 1), round(threat.delay, 1), round(threat.order, 1)
    (43.1, 1002.0, 2357.8)
    """
    fresh = min(setting.signals // 2, setting.switches + 1)
    blind = min(setting.horizon, fresh * (setting.delay + 1))
    late = min(setting.signals, setting.switches + 1)
    return LowerBound(_learning(setting), 0.5 * blind, _order(setting, late))


def conjectured_order(setting: Setting) -> float:
    """Return sqrt((Gamma + 1) K S T) + D, which [Vernade2020, Sec. 4.3] conjectures to be possible.

    With S = 2 (Gamma + 1) and D + 1 = T / (Gamma + 1) every policy pays T / 2, which is more.
    """
    sizes = (setting.switches + 1) * setting.actions * setting.signals
    return math.sqrt(sizes * setting.horizon) + setting.delay


def _learning(setting: Setting) -> float:
    segments = setting.switches + 1
    length, longer = divmod(setting.horizon, segments)
    return learning_factor(setting.actions) * sum(
        times * min(math.sqrt(setting.actions * rounds), rounds)
        for rounds, times in ((length, segments - longer), (length + 1, longer))
    )


def _order(setting: Setting, late: int) -> float:
    root = math.sqrt(setting.actions * (setting.switches + 1) * setting.horizon)
    return min(float(setting.horizon), root + late * setting.delay)


def learning_factor(actions: int) -> float:
    """Return c_K, at least 1/18.

    >>> round(learning_factor(2), 4), round(learning_factor(4), 4)
    (0.058, 0.1205)
    """
    return 0.25 * (1.0 - 1.0 / actions - 0.5 * math.sqrt(math.log(4.0 / 3.0)))
