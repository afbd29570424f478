"""Discounted Thompson sampling: ignores the signals, lets old rewards fade [Raj2017]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.discounted_rewards import (
    DiscountedRewards,
    check_gamma,
    discounted_credit,
    discounted_play,
    new_discounted_rewards,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec
from foretell.policies.verbs import begin, choose, credit, ignore, observe, play
from foretell.types import Bools, Floats, Problem


@register(
    "d-ts",
    rewards=("bounded",),
    stream=True,
    needs=("discount",),
    use="signals that say nothing about rewards, in a drifting world",
    cost="O(K)",
)
@dataclass(frozen=True)
class DTs(Spec):
    """Thompson sampling on delayed rewards that fade with age, blind to signals.

    Each round draws the mean of every action from Beta(1 + N mean, 1 + N (1 − mean)) of its
    discounted rewards, and plays the best of the draw: an action left alone returns to the prior.
    Order of arrival matters to the last digits of a sum of reals: it reads a stream.
    """

    gamma: float = 0.999
    """Weight that a reward keeps from one round to the next."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_gamma(self.gamma)


class DTsState(NamedTuple):
    """Faded rewards, by action."""

    rewards: DiscountedRewards
    scratch: Floats


@begin.register(DTs)
def _begin(spec: DTs, problem: Problem) -> DTsState:
    return DTsState(new_discounted_rewards(problem.actions, spec.gamma), np.zeros(problem.actions))


@choose.register(DTsState)
def _choose(state: DTsState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    for action in range(state.scratch.size):
        total = state.rewards.sums[action]
        # Rounding may leave a sum a hair above its count.
        misses = max(0.0, state.rewards.counts[action] - total)
        state.scratch[action] = rng.beta(1.0 + total, 1.0 + misses)
    return argmax(state.scratch, eligible, rng)


@play.register(DTsState)
def _play(state: DTsState, t: int, action: int) -> None:
    discounted_play(state.rewards, t)


ignore(DTsState, observe)


@credit.register(DTsState)
def _credit(state: DTsState, t: int, action: int, signal: int, reward: float) -> None:
    discounted_credit(state.rewards, t, action, reward)
