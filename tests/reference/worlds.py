"""The law, the means and the regret of a world, from its knots."""

from __future__ import annotations

import numpy as np

from foretell.types import Floats
from foretell.worlds.world import World


def law_at(world: World, t: int) -> Floats:
    """Return the (actions, signals) law of round t."""
    knot = int(np.flatnonzero(world.rounds <= t)[-1])
    here: Floats = world.laws[knot]
    if not world.drifts[knot]:
        return here
    start, stop = world.rounds[knot], world.rounds[knot + 1]
    weight = (t - start) / (stop - start)
    between: Floats = (1 - weight) * here + weight * world.laws[knot + 1]
    return between


def theta_at(world: World, t: int) -> Floats:
    """Return the (signals,) theta of round t of a world of one run."""
    rounds, values = world.theta.rounds, world.theta.values
    knot = int(np.flatnonzero(rounds <= t)[-1])
    if not world.theta.drifts[knot]:
        here: Floats = values[knot]
        return here
    return np.array([np.interp(t, rounds[knot : knot + 2], v) for v in values[knot : knot + 2].T])


def means_at(world: World, t: int) -> Floats:
    """Return each action's mean unit reward: alpha · mu + (1 − alpha) · p·theta."""
    knot = int(np.flatnonzero(world.rounds <= t)[-1])
    means: Floats = world.alpha * world.mus[knot] + (1 - world.alpha) * (
        law_at(world, t) @ theta_at(world, t)
    )
    return means


def regret_of(world: World, actions: list[int]) -> Floats:
    """Return the cumulative dynamic regret in natural rewards."""
    gaps = [means_at(world, t).max() - means_at(world, t)[a] for t, a in enumerate(actions)]
    total: Floats = np.cumsum(gaps) * world.width
    return total
