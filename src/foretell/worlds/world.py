"""Drawn instances of a scenario: arrays only, and how they answer an action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel, uniform
from foretell.types import Bools, Floats, Ints
from foretell.worlds.delay_arrays import DelayArrays, draw_delay
from foretell.worlds.rewards import draw_reward


class World(NamedTuple):
    """Laws given by knots, theta, rewards and delays; means and rewards are in unit rewards.

    It may hold the worlds of several runs, which differ in their knots alone.
    """

    theta: Floats
    """(signals,)"""
    first: Ints
    """(runs,): the first knot of each run."""
    end: Ints
    """(runs,): the knot after its last one."""
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
    plain: bool
    """Bernoulli rewards, no mixture, constant delays: what is asked of most worlds."""

    def changes_of(self, run: int) -> tuple[int, ...]:
        """Return the rounds at which the law of a run jumps."""
        rounds = self.rounds[self.first[run] : self.end[run]]
        drifts = self.drifts[self.first[run] : self.end[run]]
        return tuple(int(r) for r in rounds[1:][~drifts[:-1]])

    @property
    def changes(self) -> tuple[int, ...]:
        """The rounds at which the law of the first run jumps."""
        return self.changes_of(0)


class Now(NamedTuple):
    """The law in force in the current round."""

    reached: Floats
    """(actions, signals): the cumulative law, +inf from the last possible signal on."""
    mu: Floats
    gaps: Floats
    """(actions,): by how much each action is worse than the best one, in natural rewards."""
    knot: Ints
    """(2,): the knot the round belongs to, and the one after the last of its run."""


def before_round_zero(world: World) -> Now:
    """Make room for the current law, and stand before round 0 of the first run."""
    actions, signals = world.laws.shape[1], world.laws.shape[2]
    now = Now(
        np.zeros((actions, signals)),
        np.zeros(actions),
        np.zeros(actions),
        np.zeros(2, np.int64),
    )
    begin_run(world, now, 0)
    return now


@kernel
def begin_run(world: World, now: Now, run: int) -> None:
    """Stand before round 0 of a run."""
    now.knot[0] = world.first[run] - 1
    now.knot[1] = world.end[run]


@kernel
def move_to(world: World, now: Now, t: int) -> int:
    """Put the law of round t in force, and return the round at which it moves again.

    Rounds come in order; -1 stands for a law that stays.
    """
    knot = now.knot[0]
    end = now.knot[1]
    moved = False
    while knot + 1 < end and world.rounds[knot + 1] <= t:
        knot += 1
        moved = True
    drifts = world.drifts[knot]
    if moved or drifts:
        now.knot[0] = knot
        _put_in_force(world, now, knot, t)
    if drifts:
        return t + 1
    return world.rounds[knot + 1] if knot + 1 < end else -1


@kernel
def _put_in_force(world: World, now: Now, knot: int, t: int) -> None:
    weight = 0.0
    following = knot
    if world.drifts[knot]:
        following = knot + 1
        weight = (t - world.rounds[knot]) / (world.rounds[following] - world.rounds[knot])
    best = -np.inf
    for action in range(now.gaps.size):
        mean = 0.0
        reached = 0.0
        last = 0
        for signal in range(world.theta.size):
            share = world.laws[knot, action, signal]
            share += weight * (world.laws[following, action, signal] - share)
            mean += share * world.theta[signal]
            reached += share
            now.reached[action, signal] = reached
            if share > 0.0:
                last = signal
        for signal in range(last, world.theta.size):
            now.reached[action, signal] = np.inf
        now.mu[action] = world.mus[knot, action]
        mean = (1.0 - world.alpha) * mean + world.alpha * now.mu[action]
        now.gaps[action] = mean
        best = max(best, mean)
    for action in range(now.gaps.size):
        now.gaps[action] = (best - now.gaps[action]) * world.width


@kernel
def draw_signal(reached: Floats, action: int, uniform: float) -> int:
    """Return the signal at which the cumulative law of the action passes `uniform`."""
    signal = 0
    for other in range(reached.shape[1] - 1):
        signal += uniform >= reached[action, other]
    return signal


@kernel
def answer(world: World, now: Now, action: int, rng: np.random.Generator) -> tuple[int, float, int]:
    """Return the signal, the unit reward and its delay for an action in the current round.

    `rng` advances by the same amount whatever the action is: policies compared on one world meet
    the same luck.
    """
    if world.plain:
        signal = draw_signal(now.reached, action, uniform(rng))
        reward = 1.0 if uniform(rng) < world.theta[signal] else 0.0
        return signal, reward, world.delays.rounds[signal]
    mixing = world.alpha > 0.0
    mixed = mixing and uniform(rng) < world.alpha
    luck = uniform(rng)
    signal = int(luck * world.theta.size) if mixed else draw_signal(now.reached, action, luck)
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
