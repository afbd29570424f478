"""NSD-PSRL: posterior sampling on a windowed law and a delayed theta [Vernade2020, App. F]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.censored_spec import CensoredSpec
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.delay_fit import sample_known_theta
from foretell.policies.parts.law import (
    Law,
    law_forget,
    law_observe,
    law_play,
    law_unobserve,
    law_unplay,
    new_law,
)
from foretell.policies.parts.open_rewards import (
    OpenRewards,
    new_open_rewards,
    open_changed,
    open_count,
    open_elapse,
)
from foretell.policies.parts.ordered_theta import ThetaPrior, new_theta_prior
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, remove_reward
from foretell.policies.registry import register
from foretell.policies.spec import capped, check_window
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    elapse,
    forget,
    observe,
    play,
    sample_values,
    uncredit,
    unobserve,
    unplay,
    unwait,
    wait,
)
from foretell.types import Bools, Floats, Problem


@register(
    "nsd-psrl",
    needs=("window",),
    use="a known pace of change, and no need of a proof",
    cost="O(K S)",
    version=3,
)
@dataclass(frozen=True)
class NsdPsrl(CensoredSpec):
    """Posterior sampling on a windowed law and an unwindowed, delayed theta.

    Each round draws a law from Dirichlet(1 + counts in the window) for every action and a theta
    from Beta(1 + rewards, 1 + misses) for every signal, and plays the best action of the draw.
    Rewards inside [0, 1] count as fractions of both; Gaussian ones have the posterior
    N(sum / (n + 1), 1 / (n + 1)) in units of their scale. `ordered` and `signal_values` declare
    what is known about theta, see `foretell.policies.theta_spec`; `censored` and `typical_delay`
    are for rewards of which only conversions are reported, see `foretell.policies.censored_spec`.
    """

    window: int | None = None
    """How many rounds the law remembers; None is all of them."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_window(self.window)


class NsdPsrlState(NamedTuple):
    """The law in the window, and theta from every reward."""

    gaussian: bool
    law: Law
    theta: Rewards
    prior: ThetaPrior
    open: OpenRewards
    scratch: Floats
    scratch_theta: Floats


@begin.register(NsdPsrl)
def _begin(spec: NsdPsrl, problem: Problem) -> NsdPsrlState:
    return NsdPsrlState(
        gaussian=problem.rewards == "gaussian",
        law=new_law(problem.actions, problem.signals, capped(spec.window, problem.horizon)),
        theta=new_rewards(problem.signals),
        prior=new_theta_prior(spec, problem),
        open=new_open_rewards(spec, problem),
        scratch=np.zeros(problem.actions),
        scratch_theta=np.zeros(problem.signals),
    )


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


@sample_values.register(NsdPsrlState)
def _sample_values(state: NsdPsrlState, t: int, out: Floats, rng: np.random.Generator) -> None:
    sample_known_theta(
        state.theta, state.prior, state.open, state.gaussian, state.scratch_theta, rng
    )
    for action in range(out.size):
        out[action] = sample_value(state.law, action, state.scratch_theta, rng)


@choose.register(NsdPsrlState)
def _choose(state: NsdPsrlState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    sample_known_theta(
        state.theta, state.prior, state.open, state.gaussian, state.scratch_theta, rng
    )
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
    open_changed(state.open)


@uncredit.register(NsdPsrlState)
def _uncredit(state: NsdPsrlState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.theta, signal, reward)
    open_changed(state.open)


@unobserve.register(NsdPsrlState)
def _unobserve(state: NsdPsrlState, t: int, action: int, signal: int) -> None:
    law_unobserve(state.law, t, action, signal)


@elapse.register(NsdPsrlState)
def _elapse(state: NsdPsrlState, now: int) -> None:
    open_elapse(state.open, now)


@wait.register(NsdPsrlState)
def _wait(
    state: NsdPsrlState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    open_count(state.open, made, signal, delay, reward, closed, 1)


@unwait.register(NsdPsrlState)
def _unwait(
    state: NsdPsrlState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    open_count(state.open, made, signal, delay, reward, closed, -1)


@forget.register(NsdPsrlState)
def _forget(state: NsdPsrlState) -> None:
    law_forget(state.law)
