"""Drawn instances of a scenario: arrays only, and how they answer an action."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel, uniform
from foretell.types import Bools, Floats, Ints
from foretell.worlds.delay_arrays import DelayArrays, delay_entry, draw_delay
from foretell.worlds.rewards import draw_reward
from foretell.worlds.theta_changes import ThetaKnots


class World(NamedTuple):
    """Laws and thetas given by knots, rewards and delays; means and rewards are in unit rewards.

    It may hold the worlds of several runs, which differ in their knots alone.
    """

    theta: ThetaKnots
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
    reward_window: int
    """Rounds after which a round without a conversion is known to have none; 0: not censored."""
    plain: bool
    """Bernoulli rewards, no mixture, constant delays: what is asked of most worlds."""

    def changes_of(self, run: int) -> tuple[int, ...]:
        """Return the rounds at which the law of a run jumps."""
        rounds = self.rounds[self.first[run] : self.end[run]]
        drifts = self.drifts[self.first[run] : self.end[run]]
        return tuple(int(r) for r in rounds[1:][~drifts[:-1]])

    def all_changes_of(self, run: int) -> tuple[tuple[int, ...], ...]:
        """Return the rounds at which the law of a run jumps, and those at which its theta does."""
        return self.changes_of(run), self.theta.changes_of(run)

    def jumps_of(self, run: int) -> tuple[int, ...]:
        """Return the rounds at which the law of a run jumps, or its theta, or both."""
        return tuple(sorted({*self.changes_of(run), *self.theta.changes_of(run)}))

    def of_runs(self, numbers: Ints | slice) -> World:
        """Return the worlds of some of the runs."""
        return self._replace(
            theta=self.theta.of_runs(numbers), first=self.first[numbers], end=self.end[numbers]
        )

    def alone(self, run: int) -> World:
        """Return the world of one run, with no knots but its own."""
        own = slice(int(self.first[run]), int(self.end[run]))
        return self._replace(
            theta=self.theta.alone(run),
            first=np.zeros(1, np.int64),
            end=np.array([own.stop - own.start]),
            rounds=self.rounds[own],
            laws=self.laws[own],
            mus=self.mus[own],
            drifts=self.drifts[own],
        )

    @property
    def changes(self) -> tuple[int, ...]:
        """The rounds at which the law of the first run jumps."""
        return self.changes_of(0)


class Now(NamedTuple):
    """The law and the theta in force in the current round."""

    reached: Floats
    """(actions, signals): the cumulative law, +inf from the last possible signal on."""
    theta: Floats
    """(signals,)"""
    mu: Floats
    gaps: Floats
    """(actions,): by how much each action is worse than the best one, in natural rewards."""
    knot: Ints
    """(2,): the knot the round belongs to, and the one after the last of its run."""
    theta_knot: Ints
    """(2,): the same of theta."""


def before_round_zero(world: World) -> Now:
    """Make room for the current law, and stand before round 0 of the first run."""
    actions, signals = world.laws.shape[1], world.laws.shape[2]
    now = Now(
        np.zeros((actions, signals)),
        np.zeros(signals),
        np.zeros(actions),
        np.zeros(actions),
        np.zeros(2, np.int64),
        np.zeros(2, np.int64),
    )
    begin_run(world, now, 0)
    return now


@kernel
def begin_run(world: World, now: Now, run: int) -> None:
    """Stand before round 0 of a run."""
    now.knot[0] = world.first[run] - 1
    now.knot[1] = world.end[run]
    now.theta_knot[0] = world.theta.first[run] - 1
    now.theta_knot[1] = world.theta.end[run]


@kernel
def move_to(world: World, now: Now, t: int) -> int:
    """Put the law and the theta of round t in force, and return the round at which either moves.

    Rounds come in order; -1 stands for what stays as it is.
    """
    moved = _pass_knots(world.rounds, now.knot, t)
    moved |= _pass_knots(world.theta.rounds, now.theta_knot, t)
    drifts = world.drifts[now.knot[0]] or world.theta.drifts[now.theta_knot[0]]
    if moved or drifts:
        _put_theta_in_force(world.theta, now, t)
        _put_law_in_force(world, now, t)
    if drifts:
        return t + 1
    following = _next_knot(world.rounds, now.knot)
    other = _next_knot(world.theta.rounds, now.theta_knot)
    if following < 0 or other < 0:
        return max(following, other)
    return min(following, other)


@kernel
def _pass_knots(rounds: Ints, knot: Ints, t: int) -> bool:
    """Go on to the knot that round t belongs to; return whether that is another one."""
    moved = False
    while knot[0] + 1 < knot[1] and rounds[knot[0] + 1] <= t:
        knot[0] += 1
        moved = True
    return moved


@kernel
def _next_knot(rounds: Ints, knot: Ints) -> int:
    """Return the round of the next knot, -1 if there is none."""
    return rounds[knot[0] + 1] if knot[0] + 1 < knot[1] else -1


@kernel
def _way(rounds: Ints, knot: int, t: int) -> float:
    """Return how much of the way from a knot to the next one is done in round t."""
    return (t - rounds[knot]) / (rounds[knot + 1] - rounds[knot])


@kernel
def _put_theta_in_force(theta: ThetaKnots, now: Now, t: int) -> None:
    knot = following = now.theta_knot[0]
    weight = 0.0
    if theta.drifts[knot]:
        following = knot + 1
        weight = _way(theta.rounds, knot, t)
    for signal in range(now.theta.size):
        mean = theta.values[knot, signal]
        now.theta[signal] = mean + weight * (theta.values[following, signal] - mean)


@kernel
def _put_law_in_force(world: World, now: Now, t: int) -> None:
    knot = following = now.knot[0]
    weight = 0.0
    if world.drifts[knot]:
        following = knot + 1
        weight = _way(world.rounds, knot, t)
    best = -np.inf
    for action in range(now.gaps.size):
        mean = 0.0
        reached = 0.0
        last = 0
        for signal in range(now.theta.size):
            share = world.laws[knot, action, signal]
            share += weight * (world.laws[following, action, signal] - share)
            mean += share * now.theta[signal]
            reached += share
            now.reached[action, signal] = reached
            if share > 0.0:
                last = signal
        for signal in range(last, now.theta.size):
            now.reached[action, signal] = np.inf
        now.mu[action] = world.mus[knot, action]
        mean = (1.0 - world.alpha) * mean + world.alpha * now.mu[action]
        now.gaps[action] = mean
        best = max(best, mean)
    for action in range(now.gaps.size):
        now.gaps[action] = (best - now.gaps[action]) * world.width


@kernel
def best_action(now: Now) -> int:
    """Return the action without a gap: the first one, where several are the best."""
    best = 0
    while now.gaps[best] > 0.0:
        best += 1
    return best


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
        reward = 1.0 if uniform(rng) < now.theta[signal] else 0.0
        return signal, reward, world.delays.rounds[signal]
    mixing = world.alpha > 0.0
    mixed = mixing and uniform(rng) < world.alpha
    luck = uniform(rng)
    signal = int(luck * now.theta.size) if mixed else draw_signal(now.reached, action, luck)
    reward = draw_reward(
        world.reward_kind,
        world.concentration,
        now.theta,
        now.mu,
        action if mixed else signal,
        mixed,
        mixing,
        rng,
    )
    late = uniform(rng) if world.delays.uses_uniform else 1.0
    normal = rng.standard_normal() if world.delays.uses_normal else 0.0
    entry = delay_entry(world.delays, now.theta.size, signal, reward)
    return signal, reward, draw_delay(world.delays, entry, late, normal)
