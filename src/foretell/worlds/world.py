"""One drawn instance of a scenario: arrays only, and how it answers an action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel, uniform
from foretell.types import Bools, Floats, Ints
from foretell.worlds.delay_arrays import DelayArrays, draw_delay
from foretell.worlds.rewards import draw_reward


class World(NamedTuple):
    """A law given by knots, theta, rewards and delays; means and rewards are in unit rewards."""

    theta: Floats
    """(signals,)"""
    rounds: Ints
    """(knots,): the first round of each knot."""
    laws: Floats
    """(knots, actions, signals)"""
    mus: Floats
    """(knots, actions): action means of the misspecified mixture."""
    drifts: Bools
    """(knots,): whether the law moves in a line from this knot to the next."""
    alpha: float
    """The share of rounds in which the reward follows mu and the signal means nothing."""
    width: float
    """One unit reward in natural rewards: regret is measured in these."""
    reward_kind: int
    concentration: float
    delays: DelayArrays

    @property
    def changes(self) -> tuple[int, ...]:
        """The rounds at which the law jumps."""
        return tuple(int(r) for r in self.rounds[1:][~self.drifts[:-1]])


class Now(NamedTuple):
    """The law in force in the current round."""

    law: Floats
    mu: Floats
    gaps: Floats
    """(actions,): by how much each action is worse than the best one, in natural rewards."""
    knot: Ints
    """(1,): the knot the round belongs to."""


def before_round_zero(world: World) -> Now:
    """Make room for the current law."""
    actions, signals = world.laws.shape[1], world.laws.shape[2]
    return Now(
        np.zeros((actions, signals)),
        np.zeros(actions),
        np.zeros(actions),
        np.full(1, -1, np.int64),
    )


@kernel
def move_to(world: World, now: Now, t: int) -> None:
    """Put the law of round t in force; rounds come in order."""
    knot = now.knot[0]
    moved = False
    while knot + 1 < world.rounds.size and world.rounds[knot + 1] <= t:
        knot += 1
        moved = True
    if not moved and not world.drifts[knot]:
        return
    now.knot[0] = knot
    weight = 0.0
    following = knot
    if world.drifts[knot]:
        following = knot + 1
        weight = (t - world.rounds[knot]) / (world.rounds[following] - world.rounds[knot])
    best = -np.inf
    for action in range(now.gaps.size):
        mean = 0.0
        for signal in range(world.theta.size):
            share = world.laws[knot, action, signal]
            share += weight * (world.laws[following, action, signal] - share)
            now.law[action, signal] = share
            mean += share * world.theta[signal]
        now.mu[action] = world.mus[knot, action]
        mean = (1.0 - world.alpha) * mean + world.alpha * now.mu[action]
        now.gaps[action] = mean
        best = max(best, mean)
    for action in range(now.gaps.size):
        now.gaps[action] = (best - now.gaps[action]) * world.width


@kernel
def draw_signal(law: Floats, action: int, uniform: float) -> int:
    """Return the signal at which the cumulative law of the action passes `uniform`."""
    last = law.shape[1] - 1
    reached = 0.0
    for signal in range(last):
        reached += law[action, signal]
        if uniform < reached:
            return signal
    while law[action, last] == 0.0:
        last -= 1
    return last


@kernel
def answer(world: World, now: Now, action: int, rng: np.random.Generator) -> tuple[int, float, int]:
    """Return the signal, the unit reward and its delay for an action in the current round.

    `rng` advances by the same amount whatever the action is: policies compared on one world meet
    the same luck.
    """
    mixing = world.alpha > 0.0
    mixed = mixing and uniform(rng) < world.alpha
    luck = uniform(rng)
    signal = int(luck * world.theta.size) if mixed else draw_signal(now.law, action, luck)
    reward = draw_reward(
        world.reward_kind,
        world.concentration,
        world.theta,
        now.mu,
        action if mixed else signal,
        mixed,
        mixing,
        rng,
    )
    late = uniform(rng) if world.delays.uses_uniform else 1.0
    normal = rng.standard_normal() if world.delays.uses_normal else 0.0
    return signal, reward, draw_delay(world.delays, signal, late, normal)
