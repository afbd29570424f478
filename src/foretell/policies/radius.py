"""The constants of the confidence sets of [Vernade2020, Sec. 3], as printed.

    C_{T,delta}   = 2 ln(2 T S / delta)          for theta, Eq. (3)
    C_{W,T,delta} = 2 S ln(K W T / delta)        for the law, Eq. (4)

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
