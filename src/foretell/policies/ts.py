"""Thompson sampling: ignores the signals and waits for the rewards [Thompson1933, Agrawal2012]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.theta import (
    Rewards,
    add_reward,
    forget_rewards,
    new_rewards,
    remove_reward,
    sample_means,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec
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
from foretell.types import Bools, Floats, Problem


@register("ts", use="a law that never changes, signals that say nothing about rewards", cost="O(K)")
@dataclass(frozen=True)
class Ts(Spec):
    """Thompson sampling on delayed rewards, blind to signals.

    Each round draws the mean of every action from Beta(1 + rewards, 1 + misses), or, for Gaussian
    rewards, from N(sum / (n + 1), 1 / (n + 1)), and plays the best of the draw.
    """


class TsState(NamedTuple):
    """Rewards received, by action."""

    gaussian: bool
    rewards: Rewards
    scratch: Floats


@begin.register(Ts)
def _begin(spec: Ts, problem: Problem) -> TsState:
    actions = problem.actions
    return TsState(problem.rewards == "gaussian", new_rewards(actions), np.zeros(actions))


@choose.register(TsState)
def _choose(state: TsState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    sample_means(state.rewards, state.gaussian, state.scratch, rng)
    return argmax(state.scratch, eligible, rng)


ignore(TsState, play, observe, unobserve)


@credit.register(TsState)
def _credit(state: TsState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.rewards, action, reward)


@uncredit.register(TsState)
def _uncredit(state: TsState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.rewards, action, reward)


@forget.register(TsState)
def _forget(state: TsState) -> None:
    forget_rewards(state.rewards)
