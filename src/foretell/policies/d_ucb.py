"""Discounted UCB: ignores the signals, and lets old rewards fade [Garivier2011]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.discounted_rewards import (
    DiscountedRewards,
    check_gamma,
    discounted_credit,
    discounted_play,
    new_discounted_rewards,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec, option
from foretell.policies.verbs import begin, choose, credit, ignore, indices, observe, play
from foretell.types import Bools, Floats, Problem


@register(
    "d-ucb",
    rewards=("bounded",),
    stream=True,
    needs=("discount",),
    use="signals that say nothing about rewards, in a drifting world",
    cost="O(K)",
)
@dataclass(frozen=True)
class DUcb(Spec):
    """UCB on delayed rewards that fade with age, blind to signals.

    The index of an action is its discounted mean plus 2 sqrt(xi ln n / N), with N its discounted
    rewards received and n their sum over actions; +inf while there is none. The paper's discount
    for G changes in T rounds is gamma = 1 − sqrt(G / T) / 4. Order of arrival matters to the last
    digits of a sum of reals: it reads a stream.
    """

    gamma: float = 0.999
    """Weight that a reward keeps from one round to the next."""
    xi: float = option(0.6)
    """Factor under the root of the confidence radius."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_gamma(self.gamma)
        if not 0.0 <= self.xi < math.inf:
            raise InvalidInput(
                f"xi must be a finite number of at least 0, got {self.xi!r}: the proof needs "
                f"more than 0.5, the paper's experiments have 0.6"
            )


class DUcbState(NamedTuple):
    """Faded rewards, by action."""

    xi: float
    rewards: DiscountedRewards
    scratch: Floats


@begin.register(DUcb)
def _begin(spec: DUcb, problem: Problem) -> DUcbState:
    rewards = new_discounted_rewards(problem.actions, spec.gamma)
    return DUcbState(float(spec.xi), rewards, np.zeros(problem.actions))


@indices.register(DUcbState)
def _indices(state: DUcbState, t: int, out: Floats) -> None:
    total = 0.0
    for action in range(out.size):
        total += state.rewards.counts[action]
    logarithm = math.log(max(1.0, total))
    for action in range(out.size):
        count = state.rewards.counts[action]
        if count == 0.0:
            out[action] = math.inf
        else:
            mean = state.rewards.sums[action] / count
            out[action] = mean + 2.0 * math.sqrt(state.xi * logarithm / count)


@choose.register(DUcbState)
def _choose(state: DUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    indices(state, t, state.scratch)
    return argmax(state.scratch, eligible, rng)


@play.register(DUcbState)
def _play(state: DUcbState, t: int, action: int) -> None:
    discounted_play(state.rewards, t)


ignore(DUcbState, observe)


@credit.register(DUcbState)
def _credit(state: DUcbState, t: int, action: int, signal: int, reward: float) -> None:
    discounted_credit(state.rewards, t, action, reward)
