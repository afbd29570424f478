"""The constants of the confidence sets of [Vernade2020, Sec. 3], as printed and as needed.

Both make a union bound come out at delta [Vernade2020, App. B.1]; a radius is sqrt(C / count):

                                 printed                 tight
    C_{T,delta}, theta, Eq. (3)  2 ln(2 T S / delta)     ln(2 T S / delta) / 2
    C_{W,T,delta}, law, Eq. (4)  2 S ln(K W T / delta)   2 ln((2^S − 2) K W T / delta)

Tight is what the inequalities need: 2 exp(−2C) over T S counts (Hoeffding on [0, 1]), and
(2^S − 2) exp(−C/2) over K W T counts [Weissman2003]. Printed is never smaller, as
2^S − 2 <= x^(S−1) for x = K W T / delta >= 2.5, which K >= 2 and T >= K ensure (errata P1, P2).

W is min(W, T). Where nobody knows the horizon, T is replaced by t (t + 1), t counted from 1.
"""

from __future__ import annotations

import math
from typing import TypeVar

from foretell.kernel import kernel
from foretell.types import Floats

Number = TypeVar("Number", float, Floats)


@kernel
def anytime_horizon(t: int) -> int:
    """Return what replaces T in round t (from 0) when the horizon is unknown."""
    return (t + 1) * (t + 2)


@kernel
def theta_constant(tight: bool, signals: int, horizon: float, delta: float) -> float:
    """Return C_{T,delta} of [Vernade2020, Eq. (3)]; tight, for rewards in [0, 1], a quarter."""
    return (0.5 if tight else 2.0) * math.log(2.0 * horizon * signals / delta)


@kernel
def law_constant(
    tight: bool, actions: int, signals: int, window: float, horizon: float, delta: float
) -> float:
    """Return C_{W,T,delta} of [Vernade2020, Eq. (4)], printed or tight."""
    failures = actions * min(window, horizon) * horizon / delta
    return law_constant_of(tight, signals, math.log(failures))


@kernel
def law_constant_of(tight: bool, signals: int, log_failures: Number) -> Number:
    """Return C_{W,T,delta} from ln(K W T / delta), a number or an array of them.

    Tight counts the 2^S − 2 subsets of Weissman's inequality; printed has S in their stead.
    """
    if tight:
        subsets = signals * math.log(2.0) + math.log1p(-(2.0 ** (1 - signals)))
        return 2.0 * (subsets + log_failures)
    return 2.0 * signals * log_failures
