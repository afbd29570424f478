"""The bound of NSD-KL with explicit constants: no term has both actions and signals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from foretell.theory.bounds import Bound
from foretell.theory.terms import delay_term, success

if TYPE_CHECKING:
    from foretell.theory.setting import Setting


def s_free_bound(setting: Setting) -> Bound:
    """Bound the regret of NSD-KL with restarts at known changes; derived in `s-free-bound.md`.

    r + (sqrt(2 c) + sqrt(2 L)) sqrt((Gamma+1) K T) for the law, with r = (Gamma+1) K (1 + 2 c l);
    2 l (sqrt(2 c') + sqrt(2 L')) sqrt(S T) for theta and 2 l S (D + 1) for the delay, l = 1 + ln T.
    With probability 1 - 3 delta. No term has both K and S; `constants` does not matter.

    >>> from foretell.theory import Setting
    >>> bound = s_free_bound(Setting(horizon=10**7, actions=4, signals=3, switches=3, delay=500))
    >>> {name: round(value) for name, value in bound.by_name().items()}
    {'switching': 0, 'law': 160309, 'theta': 2122142, 'azuma': 0, 'delay': 51457}
    """
    horizon, memories = setting.horizon, setting.switches + 1
    harmonic = 1.0 + math.log(horizon)
    mixture = 0.5 * math.log(horizon + 1.0) + math.log(2.0)
    pairs = 2.0 * setting.actions * memories * (memories + 1)
    law_level = math.log(pairs / setting.delta) + mixture
    theta_level = math.log(2.0 * setting.signals / setting.delta) + mixture
    law_width = math.sqrt(2.0 * law_level) + math.sqrt(
        2.0 * math.log(setting.actions * horizon / setting.delta)
    )
    theta_width = math.sqrt(2.0 * theta_level) + math.sqrt(
        2.0 * math.log(setting.signals * horizon / setting.delta)
    )
    cells = memories * setting.actions
    return Bound(
        switching=0.0,
        law=law_width * math.sqrt(cells * horizon) + cells * (1.0 + 2.0 * law_level * harmonic),
        theta=2.0 * harmonic * theta_width * math.sqrt(setting.signals * horizon),
        azuma=0.0,
        delay=2.0 * harmonic * delay_term(setting),
        horizon=horizon,
        window=horizon,
        probability=success(setting),
    )
