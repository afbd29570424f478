"""The constants of the confidence radii, C_{T,delta} and C_{W,T,delta}, for a setting.

Their formulas are those of the policy itself: `foretell.policies.parts.radius`. A setting with
`constants="literal"` has the printed ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from foretell.policies.parts.radius import law_constant_of, theta_constant
from foretell.theory.setting import effective_window

if TYPE_CHECKING:
    from foretell.theory.setting import Setting
    from foretell.types import Floats, Ints


def theta_radius_constant(setting: Setting) -> float:
    """Return C_{T,delta} of [Vernade2020, Eq. (3)].

    >>> from foretell.theory import Setting
    >>> round(theta_radius_constant(Setting(horizon=8000, actions=4, signals=3)), 2)
    26.16
    """
    tight = setting.constants == "tight"
    return theta_constant(tight, setting.signals, setting.horizon, setting.delta)


def law_radius_constant(setting: Setting, window: int) -> float:
    """Return C_{W,T,delta} of [Vernade2020, Eq. (4)].

    >>> from foretell.theory import Setting
    >>> paper = dict(horizon=8000, actions=4, signals=3)
    >>> round(law_radius_constant(Setting(**paper), 800), 1)
    116.2
    >>> round(law_radius_constant(Setting(**paper, constants="tight"), 800), 1)
    42.3
    """
    return float(law_radius_constants(setting, np.array([effective_window(setting, window)]))[0])


def law_radius_constants(setting: Setting, windows: Ints) -> Floats:
    """Return C_{W,T,delta} for many windows, none of them longer than the horizon."""
    logarithms: Floats = np.log(windows.astype(np.float64)) + math.log(
        setting.actions * setting.horizon / setting.delta
    )
    return law_constant_of(setting.constants == "tight", setting.signals, logarithms)
