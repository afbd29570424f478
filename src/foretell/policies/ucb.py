"""UCB: ignores the signals and waits for the rewards [Auer2002]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.theta import (
    Rewards,
    add_reward,
    forget_rewards,
    new_rewards,
    remove_reward,
    reward_sum,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_scale, option
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    forget,
    ignore,
    indices,
    observe,
    play,
    uncredit,
    unobserve,
)
from foretell.types import Bools, Floats, Problem


@register("ucb", use="a law that never changes, short delays", cost="O(K)")
@dataclass(frozen=True)
class Ucb(Spec):
    """UCB1 on delayed rewards, blind to signals.

    The index of an action is its mean reward plus scale · sqrt(2 ln t / N), with N the rewards
    received so far and t counted from 1; +inf while there is none.
    """

    scale: float = option(1.0)

    def __post_init__(self) -> None:
        """Check the fields."""
        check_scale(self.scale)


class UcbState(NamedTuple):
    """Rewards received, by action."""

    scale: float
    rewards: Rewards
    scratch: Floats


@begin.register(Ucb)
def _begin(spec: Ucb, problem: Problem) -> UcbState:
    return UcbState(float(spec.scale), new_rewards(problem.actions), np.zeros(problem.actions))


@kernel
def ucb_indices(rewards: Rewards, exploration: float, out: Floats) -> None:
    """Write mean + exploration / sqrt(N), +inf for an action without rewards."""
    for action in range(out.size):
        received = rewards.counts[action]
        if received == 0:
            out[action] = math.inf
        else:
            share = 1.0 / received
            out[action] = reward_sum(rewards, action) * share + exploration * math.sqrt(share)


@indices.register(UcbState)
def _indices(state: UcbState, t: int, out: Floats) -> None:
    ucb_indices(state.rewards, state.scale * math.sqrt(2.0 * math.log(t + 1.0)), out)


@choose.register(UcbState)
def _choose(state: UcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    indices(state, t, state.scratch)
    return argmax(state.scratch, eligible, rng)


ignore(UcbState, play, observe, unobserve)


@credit.register(UcbState)
def _credit(state: UcbState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.rewards, action, reward)


@uncredit.register(UcbState)
def _uncredit(state: UcbState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.rewards, action, reward)


@forget.register(UcbState)
def _forget(state: UcbState) -> None:
    forget_rewards(state.rewards)
