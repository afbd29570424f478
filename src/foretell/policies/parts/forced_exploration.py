"""Forced exploration: every action once in a while, whatever its index [Besson2022].

In every K / alpha rounds the first K are slots in which each action is played once. The paper
plays them in the order of their numbers; here the action that waited longest comes first, ties at
random, so that actions are only names. Where the horizon is unknown the next power of two stands
for it.
"""

from __future__ import annotations

import math

from foretell.kernel import kernel


@kernel
def doubled_horizon(horizon: int, t: int) -> int:
    """Return the horizon, or, where it is 0 for unknown, the smallest power of two above t + 1."""
    if horizon > 0:
        return horizon
    guess = 64
    while guess <= t + 1:
        guess *= 2
    return guess


@kernel
def usual_share(actions: int, horizon: int) -> float:
    """Return alpha = sqrt(K ln T / T) of [Besson2022], at most 1."""
    return min(1.0, math.sqrt(actions * math.log(float(horizon)) / horizon))


@kernel
def is_slot(t: int, actions: int, share: float) -> bool:
    """Return whether round t is one of the forced ones."""
    if share <= 0.0:
        return False
    period = max(actions, int(actions / share))
    return t % period < actions
