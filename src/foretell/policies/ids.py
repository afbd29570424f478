"""Information-directed sampling: little regret for much information [Russo2018]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel, uniform
from foretell.policies.parts.theta import (
    Rewards,
    add_reward,
    forget_rewards,
    new_rewards,
    remove_reward,
    reward_sum,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec, option
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    forget,
    ignore,
    observe,
    play,
    uncredit,
    unobserve,
)
from foretell.types import Bools, Floats, Ints, Problem, is_whole


@register(
    "ids",
    rewards=("bounded",),
    use="a law that never changes, signals that say nothing about rewards",
    cost="O(K (K + samples))",
)
@dataclass(frozen=True)
class Ids(Spec):
    """Least squared regret per information on delayed rewards, blind to signals.

    Each round draws `samples` vectors of means from the posterior Beta(1 + rewards, 1 + misses) of
    every action that has a chance to be the best. With delta the expected regret of an action, and
    v the variance of its mean that knowing the best action would explain, it plays the mixture of
    two actions that minimises (expected delta)² / (expected v): variance-based IDS from samples.
    """

    samples: int = option(32)
    """How many draws from the posterior each choice is made from."""

    def __post_init__(self) -> None:
        """Check the fields."""
        if not is_whole(self.samples) or self.samples < 2:
            raise InvalidInput(
                f"samples is how many draws a choice is made from: at least 2, got {self.samples!r}"
            )


FAR = 4.0
"""Standard deviations of the posterior beyond which an action is left out of the draws."""


class IdsState(NamedTuple):
    """Rewards received, by action."""

    rewards: Rewards
    scratch_sample: Floats
    """(actions, samples): means drawn from the posterior."""
    scratch_best: Ints
    """(samples,): the best action of each draw."""
    scratch_wins: Floats
    """(actions,): in how many draws an action is the best."""
    scratch_sums: Floats
    """(actions,): the sums of an action's means over the draws that each action wins."""
    scratch_regret: Floats
    scratch_gain: Floats
    scratch_likely: Bools
    """(actions,): whether an action is eligible, and might be the best."""


@begin.register(Ids)
def _begin(spec: Ids, problem: Problem) -> IdsState:
    actions = problem.actions
    return IdsState(
        rewards=new_rewards(actions),
        scratch_sample=np.zeros((actions, spec.samples)),
        scratch_best=np.zeros(spec.samples, np.int64),
        scratch_wins=np.zeros(actions),
        scratch_sums=np.zeros(actions),
        scratch_regret=np.zeros(actions),
        scratch_gain=np.zeros(actions),
        scratch_likely=np.zeros(actions, np.bool_),
    )


@kernel
def _reach(state: IdsState, action: int, deviations: float) -> float:
    """Return the posterior mean of an action plus so many standard deviations."""
    hits = 1.0 + reward_sum(state.rewards, action)
    total = 2.0 + state.rewards.counts[action]
    mean = hits / total
    return mean + deviations * math.sqrt(mean * (1.0 - mean) / (total + 1.0))


@kernel
def _mark_likely(state: IdsState, eligible: Bools) -> None:
    """Leave out what lies far below the lower end of some other action: it is never played."""
    floor = -math.inf
    for action in range(eligible.size):
        if eligible[action]:
            floor = max(floor, _reach(state, action, -FAR))
    for action in range(eligible.size):
        state.scratch_likely[action] = eligible[action] and _reach(state, action, FAR) >= floor


@kernel
def _draw(state: IdsState, eligible: Bools, rng: np.random.Generator) -> float:
    """Draw means, note the best action of each draw, and return the mean of the best."""
    sample = state.scratch_sample
    state.scratch_wins[:] = 0.0
    for action in range(eligible.size):
        if eligible[action]:
            total = reward_sum(state.rewards, action)
            misses = state.rewards.counts[action] - total
            for draw in range(sample.shape[1]):
                sample[action, draw] = rng.beta(1.0 + total, 1.0 + misses)
    mean = 0.0
    for draw in range(sample.shape[1]):
        best = -1
        for action in range(eligible.size):
            if eligible[action] and (best < 0 or sample[action, draw] > sample[best, draw]):
                best = action
        state.scratch_best[draw] = best
        state.scratch_wins[best] += 1.0
        mean += sample[best, draw]
    return mean / sample.shape[1]


@kernel
def _weigh(state: IdsState, eligible: Bools, best: float) -> None:
    """Write the expected regret of each action, and the variance that its draws explain."""
    draws = state.scratch_best.size
    for action in range(eligible.size):
        if not eligible[action]:
            continue
        state.scratch_sums[:] = 0.0
        mean = 0.0
        for draw in range(draws):
            mean += state.scratch_sample[action, draw]
            state.scratch_sums[state.scratch_best[draw]] += state.scratch_sample[action, draw]
        mean /= draws
        gain = 0.0
        for other in range(eligible.size):
            wins = state.scratch_wins[other]
            if wins > 0.0:
                gain += wins * (state.scratch_sums[other] / wins - mean) ** 2
        state.scratch_regret[action] = max(0.0, best - mean)
        state.scratch_gain[action] = gain / draws


@kernel
def best_mixture(
    regret: float, gain: float, other_regret: float, other_gain: float
) -> tuple[float, float]:
    """Return the share of the first of two actions with the least (regret)² / gain, and that ratio.

    The ratio is convex where the gain is positive. If its least point there is not the one at which
    the regret would vanish, which lies outside [0, 1], its derivative says where it is.
    """
    slope = regret - other_regret
    turn = gain - other_gain
    share = 1.0 if slope < 0.0 or (slope == 0.0 and turn >= 0.0) else 0.0
    if slope * turn > 0.0 and turn * other_regret / slope > other_gain:
        share = (turn * other_regret - 2.0 * slope * other_gain) / (slope * turn)
        share = min(1.0, max(0.0, share))
    gained = other_gain + share * turn
    missed = other_regret + share * slope
    if gained <= 0.0:
        return share, 0.0 if missed <= 0.0 else math.inf
    return share, missed * missed / gained


@choose.register(IdsState)
def _choose(state: IdsState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    _mark_likely(state, eligible)
    likely = state.scratch_likely
    best = _draw(state, likely, rng)
    _weigh(state, likely, best)
    regrets = state.scratch_regret
    first = -1
    for action in range(eligible.size):
        if likely[action] and (first < 0 or regrets[action] < regrets[first]):
            first = action
    second = first
    least = math.inf
    mixed = 1.0
    for one in range(eligible.size):
        for other in range(one if likely[one] else 0):
            if likely[other]:
                share, found = best_mixture(
                    regrets[one], state.scratch_gain[one], regrets[other], state.scratch_gain[other]
                )
                if found < least:
                    least = found
                    mixed = share
                    first = one
                    second = other
    return first if uniform(rng) < mixed else second


ignore(IdsState, play, observe, unobserve)


@credit.register(IdsState)
def _credit(state: IdsState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.rewards, action, reward)


@uncredit.register(IdsState)
def _uncredit(state: IdsState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.rewards, action, reward)


@forget.register(IdsState)
def _forget(state: IdsState) -> None:
    forget_rewards(state.rewards)
