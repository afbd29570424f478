"""The constants of the confidence sets of [Vernade2020, Sec. 3], as printed and as needed.

    C_{T,delta}   = 2 ln(2 T S / delta)          for theta, Eq. (3)
    C_{W,T,delta} = 2 S ln(K W T / delta)        for the law, Eq. (4)

The inequalities behind them, Hoeffding's for [0, 1] and Weissman's, ask for less (errata P2, P1):

    tight C_{T,delta}   = ln(2 T S / delta) / 2
    tight C_{W,T,delta} = 2 ln((2^S − 2) K W T / delta)

W is min(W, T). Where nobody knows the horizon, T is replaced by t (t + 1), t counted from 1.
"""

from __future__ import annotations

import math

from foretell.kernel import kernel


@kernel
def anytime_horizon(t: int) -> int:
    """Give what stands for T in round t (from 0) when the horizon is unknown."""
    return (t + 1) * (t + 2)


@kernel
def theta_constant(signals: int, horizon: float, delta: float) -> float:
    """Give C_{T,delta} of [Vernade2020, Eq. (3)]."""
    return 2.0 * math.log(2.0 * horizon * signals / delta)


@kernel
def law_constant(actions: int, signals: int, window: float, horizon: float, delta: float) -> float:
    """Give C_{W,T,delta} of [Vernade2020, Eq. (4)]."""
    return 2.0 * signals * math.log(actions * min(window, horizon) * horizon / delta)


@kernel
def tight_theta_constant(signals: int, horizon: float, delta: float) -> float:
    """Give what Hoeffding's inequality on [0, 1] needs: a quarter of C_{T,delta} (P2)."""
    return 0.5 * math.log(2.0 * horizon * signals / delta)


@kernel
def tight_law_constant(
    actions: int, signals: int, window: float, horizon: float, delta: float
) -> float:
    """Give what Weissman's inequality needs: 2^S − 2 times the failures, not S times C (P1)."""
    subsets = signals * math.log(2.0) + math.log1p(-(2.0 ** (1 - signals)))
    return 2.0 * (subsets + math.log(actions * min(window, horizon) * horizon / delta))
