"""NSD-PSRL: posterior sampling on a windowed law and a delayed theta [Vernade2020, App. F]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.law import (
    Law,
    law_forget,
    law_observe,
    law_play,
    law_unobserve,
    law_unplay,
    new_law,
)
from foretell.policies.parts.theta import (
    Rewards,
    add_reward,
    new_rewards,
    remove_reward,
    reward_sum,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec, capped, check_window
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    forget,
    observe,
    play,
    uncredit,
    unobserve,
    unplay,
)
from foretell.types import Bools, Floats, Problem


@register(
    "nsd-psrl",
    needs=("window",),
    use="a known pace of change, and no need of a proof",
    cost="O(K S)",
)
@dataclass(frozen=True)
class NsdPsrl(Spec):
    """Posterior sampling on a windowed law and an unwindowed, delayed theta.

    Each round draws a law from Dirichlet(1 + counts in the window) for every action and a theta
    from Beta(1 + rewards, 1 + misses) for every signal, and plays the best action of the draw.
    Rewards inside [0, 1] count as fractions of both; Gaussian ones have the posterior
    N(sum / (n + 1), 1 / (n + 1)) in units of their scale.
    """

    window: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        check_window(self.window)


class NsdPsrlState(NamedTuple):
    """The law in the window, and theta from every reward."""

    gaussian: bool
    law: Law
    theta: Rewards
    scratch: Floats
    scratch_theta: Floats


@begin.register(NsdPsrl)
def _begin(spec: NsdPsrl, problem: Problem) -> NsdPsrlState:
    return NsdPsrlState(
        gaussian=problem.rewards == "gaussian",
        law=new_law(problem.actions, problem.signals, capped(spec.window, problem.horizon)),
        theta=new_rewards(problem.signals),
        scratch=np.zeros(problem.actions),
        scratch_theta=np.zeros(problem.signals),
    )


@kernel
def sample_theta(theta: Rewards, gaussian: bool, sample: Floats, rng: np.random.Generator) -> None:
    """Draw the mean reward of every signal from its posterior."""
    for signal in range(sample.size):
        received = theta.counts[signal]
        total = reward_sum(theta, signal)
        if gaussian:
            noise = rng.standard_normal() / math.sqrt(received + 1.0)
            sample[signal] = total / (received + 1.0) + noise
        else:
            sample[signal] = rng.beta(1.0 + total, 1.0 + received - total)


@kernel
def sample_value(law: Law, action: int, theta: Floats, rng: np.random.Generator) -> float:
    """Draw p ~ Dirichlet(1 + counts of the action) and return p·theta."""
    mass = 0.0
    value = 0.0
    for signal in range(theta.size):
        weight = rng.standard_gamma(1.0 + law.counts[action, signal])
        mass += weight
        value += weight * theta[signal]
    return value / mass


@choose.register(NsdPsrlState)
def _choose(state: NsdPsrlState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    sample_theta(state.theta, state.gaussian, state.scratch_theta, rng)
    for action in range(state.scratch.size):
        if state.law.ever[action]:
            state.scratch[action] = sample_value(state.law, action, state.scratch_theta, rng)
        else:
            state.scratch[action] = math.inf
    return argmax(state.scratch, eligible, rng)


@play.register(NsdPsrlState)
def _play(state: NsdPsrlState, t: int, action: int) -> None:
    law_play(state.law, t, action)


@unplay.register(NsdPsrlState)
def _unplay(state: NsdPsrlState, t: int, action: int) -> None:
    law_unplay(state.law, t, action)


@observe.register(NsdPsrlState)
def _observe(state: NsdPsrlState, t: int, action: int, signal: int) -> None:
    law_observe(state.law, t, action, signal)


@credit.register(NsdPsrlState)
def _credit(state: NsdPsrlState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)


@uncredit.register(NsdPsrlState)
def _uncredit(state: NsdPsrlState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.theta, signal, reward)


@unobserve.register(NsdPsrlState)
def _unobserve(state: NsdPsrlState, t: int, action: int, signal: int) -> None:
    law_unobserve(state.law, t, action, signal)


@forget.register(NsdPsrlState)
def _forget(state: NsdPsrlState) -> None:
    law_forget(state.law)
