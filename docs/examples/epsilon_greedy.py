"""A policy of one's own: greedy on the signals, and now and then at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import foretell as ft
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.law import Law, law_observe, new_law
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, reward_mean
from foretell.policies.verbs import begin, choose, credit, ignore, observe, play
from foretell.types import Bools, Floats


@ft.register("epsilon-greedy")
@dataclass(frozen=True)
class EpsilonGreedy(ft.Spec):
    """Play the action that looks best, and with probability epsilon any other."""

    epsilon: float = 0.1
    """Probability that a round plays any action at random."""


class EpsilonGreedyState(NamedTuple):
    """Signals by action, rewards by signal."""

    epsilon: float
    law: Law
    theta: Rewards
    scratch: Floats


@begin.register(EpsilonGreedy)
def _begin(spec: EpsilonGreedy, problem: ft.Problem) -> EpsilonGreedyState:
    return EpsilonGreedyState(
        epsilon=spec.epsilon,
        law=new_law(problem.actions, problem.signals, window=None),
        theta=new_rewards(problem.signals),
        scratch=np.zeros(problem.actions),
    )


@ft.kernel
def estimated_value(state: EpsilonGreedyState, action: int) -> float:
    """Return the estimated mean reward of an action: its signals, at what they are worth."""
    value = 0.0
    for signal in range(state.theta.counts.size):
        value += state.law.counts[action, signal] * reward_mean(state.theta, signal)
    return value / max(1, state.law.seen[action])


@choose.register(EpsilonGreedyState)
def _choose(state: EpsilonGreedyState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    explore = rng.random() < state.epsilon
    for action in range(state.scratch.size):
        state.scratch[action] = 0.0 if explore else estimated_value(state, action)
    return argmax(state.scratch, eligible, rng)


ignore(EpsilonGreedyState, play)  # there is no window that would move


@observe.register(EpsilonGreedyState)
def _observe(state: EpsilonGreedyState, t: int, action: int, signal: int) -> None:
    law_observe(state.law, t, action, signal)


@credit.register(EpsilonGreedyState)
def _credit(state: EpsilonGreedyState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)
