"""Discounted KL-UCB: the fading rewards of `d-ucb`, the index of `kl-ucb` [Besson2022]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.discounted_rewards import (
    DiscountedRewards,
    check_gamma,
    discounted_credit,
    discounted_play,
    new_discounted_rewards,
)
from foretell.policies.parts.kl_argmax import kl_argmax, kl_bound
from foretell.policies.registry import register
from foretell.policies.spec import Spec
from foretell.policies.verbs import begin, choose, credit, ignore, indices, observe, play
from foretell.types import Bools, Floats, Problem


@register(
    "d-kl-ucb",
    rewards=("bounded",),
    stream=True,
    needs=("discount",),
    use="signals that say nothing about rewards, in a drifting world",
    cost="O(K)",
)
@dataclass(frozen=True)
class DKlUcb(Spec):
    """KL-UCB on delayed rewards that fade with age, blind to signals.

    The index of an action is max{q : N kl(mean, q) <= ln n}, with N its discounted rewards
    received, n their sum over actions and the mean discounted too; +inf while there is none. The
    discount for G changes in T rounds is that of `d-ucb`, gamma = 1 − sqrt(G / T) / 4. Order of
    arrival matters to the last digits of a sum of reals: it reads a stream.
    """

    gamma: float = 0.999
    """Weight that a reward keeps from one round to the next."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_gamma(self.gamma)


class DKlUcbState(NamedTuple):
    """Faded rewards, by action."""

    rewards: DiscountedRewards
    scratch: Floats
    scratch_levels: Floats


@begin.register(DKlUcb)
def _begin(spec: DKlUcb, problem: Problem) -> DKlUcbState:
    actions = problem.actions
    rewards = new_discounted_rewards(actions, spec.gamma)
    return DKlUcbState(rewards, np.zeros(actions), np.zeros(actions))


@kernel
def _levels(state: DKlUcbState, means: Floats, levels: Floats) -> None:
    total = 0.0
    for action in range(means.size):
        total += state.rewards.counts[action]
    level = math.log(max(1.0, total))
    for action in range(means.size):
        count = state.rewards.counts[action]
        means[action] = 0.0
        levels[action] = math.inf
        if count > 0.0:
            # Rounding may leave a sum a hair above its count.
            means[action] = min(1.0, state.rewards.sums[action] / count)
            levels[action] = level / count


@indices.register(DKlUcbState)
def _indices(state: DKlUcbState, t: int, out: Floats) -> None:
    _levels(state, out, state.scratch_levels)
    for action in range(out.size):
        out[action] = kl_bound(out[action], state.scratch_levels[action])


@choose.register(DKlUcbState)
def _choose(state: DKlUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    _levels(state, state.scratch, state.scratch_levels)
    return kl_argmax(state.scratch, state.scratch_levels, eligible, rng)


@play.register(DKlUcbState)
def _play(state: DKlUcbState, t: int, action: int) -> None:
    discounted_play(state.rewards, t)


ignore(DKlUcbState, observe)


@credit.register(DKlUcbState)
def _credit(state: DKlUcbState, t: int, action: int, signal: int, reward: float) -> None:
    discounted_credit(state.rewards, t, action, reward)
