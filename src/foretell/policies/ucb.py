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
    """Factor of the confidence radius; 1 is UCB1."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_scale(self.scale)


class UcbState(NamedTuple):
    """Rewards received, by action."""

    scale: float
    rewards: Rewards
    mean: Floats
    """(actions,): the mean reward, +inf without a reward."""
    root: Floats
    """(actions,): 1 / sqrt(N), 0 without a reward."""
    scratch: Floats


@begin.register(Ucb)
def _begin(spec: Ucb, problem: Problem) -> UcbState:
    return UcbState(
        scale=float(spec.scale),
        rewards=new_rewards(problem.actions),
        mean=np.full(problem.actions, math.inf),
        root=np.zeros(problem.actions),
        scratch=np.zeros(problem.actions),
    )


@indices.register(UcbState)
def _indices(state: UcbState, t: int, out: Floats) -> None:
    exploration = state.scale * math.sqrt(2.0 * math.log(t + 1.0))
    for action in range(out.size):
        out[action] = state.mean[action] + exploration * state.root[action]


@kernel
def _update(state: UcbState, action: int) -> None:
    """Keep what the index of an action needs until its rewards change again."""
    received = state.rewards.counts[action]
    if received == 0:
        state.mean[action] = math.inf
        state.root[action] = 0.0
    else:
        share = 1.0 / received
        state.mean[action] = reward_sum(state.rewards, action) * share
        state.root[action] = math.sqrt(share)


@choose.register(UcbState)
def _choose(state: UcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    indices(state, t, state.scratch)
    return argmax(state.scratch, eligible, rng)


ignore(UcbState, play, observe, unobserve)


@credit.register(UcbState)
def _credit(state: UcbState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.rewards, action, reward)
    _update(state, action)


@uncredit.register(UcbState)
def _uncredit(state: UcbState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.rewards, action, reward)
    _update(state, action)


@forget.register(UcbState)
def _forget(state: UcbState) -> None:
    forget_rewards(state.rewards)
    state.mean[:] = math.inf
    state.root[:] = 0.0
