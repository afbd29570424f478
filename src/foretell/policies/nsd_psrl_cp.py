"""NSD-PSRL-CP: posterior sampling that tracks, for every action, when its law last changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.nsd_psrl import sample_theta
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.residual import (
    Residual,
    doubted,
    new_residual,
    residual_close,
    residual_credit,
    residual_keep,
    residual_update,
)
from foretell.policies.parts.run_length import (
    LEARNED,
    RunLengths,
    draw_run,
    is_new,
    new_run_lengths,
    resting_rate,
    run_observe,
)
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, remove_reward
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_flag, option
from foretell.policies.verbs import begin, choose, credit, ignore, observe, play, uncredit
from foretell.types import Bools, Floats, Problem


@register(
    "nsd-psrl-cp",
    stream=True,
    use="laws that change at an unknown pace, and a signal that is known to be enough",
    cost="O(K S)",
)
@dataclass(frozen=True)
class NsdPsrlCp(Spec):
    """Posterior sampling with a filter over when each action last changed: no window, no horizon.

    Each round draws, for every action, a time of its last change and a law from
    Dirichlet(1 + signals since then), and a theta as `nsd-psrl` does, and plays the best action
    of the draw. `coupling` is the share of actions that change when one does: None learns it, 0
    lets every action change on its own, 1 all at once. `idle` is how often resting actions are
    looked at again. `robust` adds what the signals do not explain, once a test says that there
    is something. The filter reads the stream of signals.
    """

    coupling: float | None = option(None)
    idle: float = option(0.06)
    robust: bool = option(default=False)

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.coupling is not None and not 0.0 <= self.coupling <= 1.0:
            raise InvalidInput(
                f"coupling is the share of actions that change together, in [0, 1], "
                f"got {self.coupling!r}: leave it out to learn it"
            )
        if not 0.0 <= self.idle < math.inf:
            raise InvalidInput(f"idle must be a finite number of at least 0, got {self.idle!r}")
        check_flag("robust", self.robust)


class NsdPsrlCpState(NamedTuple):
    """When each action may have changed and its signals since, and theta from every reward."""

    gaussian: bool
    runs: RunLengths
    theta: Rewards
    scratch: Floats
    scratch_theta: Floats
    scratch_new: Bools
    """(actions,): whether a law was drawn that another action's change suggests."""


class RobustPsrlCpState(NamedTuple):
    """The same, and what the signals do not explain."""

    base: NsdPsrlCpState
    residual: Residual


@begin.register(NsdPsrlCp)
def _begin(spec: NsdPsrlCp, problem: Problem) -> NsdPsrlCpState | RobustPsrlCpState:
    actions, signals = problem.actions, problem.signals
    coupling = LEARNED if spec.coupling is None else float(spec.coupling)
    gaussian = problem.rewards == "gaussian"
    base = NsdPsrlCpState(
        gaussian=gaussian,
        runs=new_run_lengths(actions, signals, float(spec.idle), coupling),
        theta=new_rewards(signals),
        scratch=np.zeros(actions),
        scratch_theta=np.zeros(signals),
        scratch_new=np.zeros(actions, np.bool_),
    )
    if not spec.robust:
        return base
    return RobustPsrlCpState(base, new_residual(actions, signals, gaussian=gaussian))


@kernel
def _sample_value(
    runs: RunLengths, action: int, index: int, theta: Floats, rng: np.random.Generator
) -> float:
    """Draw p ~ Dirichlet(1 + signals of a hypothesis), if any, and return p·theta."""
    mass = 0.0
    value = 0.0
    for signal in range(theta.size):
        count = runs.counts[action, index, signal] if index >= 0 else 0
        weight = rng.standard_gamma(1.0 + count)
        mass += weight
        value += weight * theta[signal]
    return value / mass


@kernel
def sample_values(state: NsdPsrlCpState, t: int, rng: np.random.Generator) -> None:
    """Draw the value of every action from the posterior, into the scratch array."""
    sample_theta(state.theta, state.gaussian, state.scratch_theta, rng)
    rate = resting_rate(state.runs)
    for action in range(state.scratch.size):
        index = draw_run(state.runs, action, t, rate, rng)
        state.scratch[action] = _sample_value(state.runs, action, index, state.scratch_theta, rng)
        state.scratch_new[action] = is_new(state.runs, action, index)


@choose.register(NsdPsrlCpState)
def _choose(state: NsdPsrlCpState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    sample_values(state, t, rng)
    return argmax(state.scratch, eligible, rng)


@choose.register(RobustPsrlCpState)
def _choose_robust(
    state: RobustPsrlCpState, t: int, eligible: Bools, rng: np.random.Generator
) -> int:
    values = state.base.scratch
    sample_values(state.base, t, rng)
    if doubted(state.residual):
        for action in range(values.size):
            luck = rng.standard_normal()
            if not state.base.scratch_new[action]:
                values[action] += state.residual.mean[action]
                values[action] += state.residual.deviation[action] * luck
    return argmax(values, eligible, rng)


ignore(NsdPsrlCpState, play)
ignore(RobustPsrlCpState, play)


@observe.register(NsdPsrlCpState)
def _observe(state: NsdPsrlCpState, t: int, action: int, signal: int) -> None:
    run_observe(state.runs, action, t, signal)


@observe.register(RobustPsrlCpState)
def _observe_robust(state: RobustPsrlCpState, t: int, action: int, signal: int) -> None:
    runs = state.base.runs
    state.residual.open.seen[action, signal] += 1
    if run_observe(runs, action, t, signal):
        residual_close(state.residual, action, runs.start[action, 0])
        for each in range(runs.counts.shape[2]):
            residual_keep(state.residual, action, each, runs.counts[action, 0, each])
    residual_update(state.residual, state.base.theta, action)


@credit.register(NsdPsrlCpState)
def _credit(state: NsdPsrlCpState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)


@credit.register(RobustPsrlCpState)
def _credit_robust(
    state: RobustPsrlCpState, t: int, action: int, signal: int, reward: float
) -> None:
    residual_credit(state.residual, state.base.theta, t, action, signal, reward)
    add_reward(state.base.theta, signal, reward)


@uncredit.register(NsdPsrlCpState)
def _uncredit(state: NsdPsrlCpState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.theta, signal, reward)
