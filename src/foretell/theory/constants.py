"""The constants under the square roots of the confidence radii, C_{T,delta} and C_{W,T,delta}.

Both make a union bound come out at delta [Vernade2020, App. B.1]:

                     literal              tight
    C_{T,delta}      2 ln(2TS/delta)      ln(2TS/delta) / 2
    C_{W,T,delta}    2S ln(KWT/delta)     2 ln((2^S - 2) KWT/delta)

Tight is what the inequalities need: 2 exp(-2C) over T S counts (Hoeffding on [0, 1]), and
(2^S - 2) exp(-C/2) over K W T counts [Weissman2003]. Literal is never smaller, as
2^S - 2 <= x^(S-1) for x = KWT/delta >= 2.5, which K >= 2 and T >= K ensure (errata P1, P2).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from foretell.theory.setting import effective_window

if TYPE_CHECKING:
    from foretell.theory.setting import Setting
    from foretell.types import Floats, Ints


def theta_constant(setting: Setting) -> float:
    """Give C_{T,delta} of [Vernade2020, Eq. (3)].

    >>> from foretell.theory import Setting
    >>> round(theta_constant(Setting(horizon=8000, actions=4, signals=3)), 2)
    26.16
    """
    logarithm = math.log(2.0 * setting.horizon * setting.signals / setting.delta)
    return 2.0 * logarithm if setting.constants == "literal" else 0.5 * logarithm


def law_constant(setting: Setting, window: int) -> float:
    """Give C_{W,T,delta} of [Vernade2020, Eq. (4)].

    >>> from foretell.theory import Setting
    >>> paper = dict(horizon=8000, actions=4, signals=3)
    >>> round(law_constant(Setting(**paper), 800), 1)
    116.2
    >>> round(law_constant(Setting(**paper, constants="tight"), 800), 1)
    42.3
    """
    return float(law_constants(setting, np.array([effective_window(setting, window)]))[0])


def law_constants(setting: Setting, windows: Ints) -> Floats:
    """Give C_{W,T,delta} for many windows, none of them longer than the horizon."""
    logarithms = np.log(windows.astype(np.float64)) + math.log(
        setting.actions * setting.horizon / setting.delta
    )
    if setting.constants == "literal":
        return 2.0 * setting.signals * logarithms
    halves = math.log1p(-(2.0 ** (1 - setting.signals)))
    return 2.0 * (setting.signals * math.log(2.0) + halves + logarithms)
