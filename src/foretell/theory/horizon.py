"""The horizon from which on a bound says something."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from foretell.theory.bounds import Bound, switching_bound
from foretell.theory.setting import check_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.theory.setting import Setting


def first_useful_horizon(
    setting: Setting,
    largest_gap: float,
    bound: Callable[[Setting], Bound] = switching_bound,
    limit: int = 10**12,
) -> int | None:
    """Return the smallest horizon at which the bound is not vacuous, None if above `limit`.

    All else stays as in `setting`; its own horizon is not read. Found by bisection on log T: the
    bound per round falls with T. None is the usual answer where switches come at a constant rate.

    >>> from foretell.theory import Setting, stationary_bound
    >>> still = Setting(horizon=8000, actions=4, signals=3, delay=500)
    >>> first_useful_horizon(still, largest_gap=0.42, bound=stationary_bound)
    121422
    """
    check_whole("limit", limit, 1, "give the longest horizon to consider")

    def vacuous(horizon: int) -> bool:
        return bound(replace(setting, horizon=horizon)).vacuous(largest_gap)

    below = max(setting.actions, setting.switches + 1)
    if not vacuous(below):
        return below
    above = below
    while vacuous(above):
        if above >= limit:
            return None
        below, above = above, min(2 * above, limit)
    while above - below > 1:
        middle = min(max(math.isqrt(below * above), below + 1), above - 1)
        if vacuous(middle):
            below = middle
        else:
            above = middle
    return above
