"""NSD-PSRL-CP: posterior sampling that tracks, for every action, when its law last changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.censored_spec import CensoredSpec
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.delay_fit import fit_delays, sample_known_theta
from foretell.policies.parts.moving_theta import (
    MovingTheta,
    draw_since,
    moving_credit,
    new_moving_theta,
    theta_moves,
)
from foretell.policies.parts.open_rewards import (
    OpenRewards,
    new_open_rewards,
    open_changed,
    open_count,
    open_elapse,
)
from foretell.policies.parts.ordered_theta import ThetaPrior, new_theta_prior
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
    CHANGES,
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
from foretell.policies.spec import check_flag, option
from foretell.policies.state import learn_on_views
from foretell.policies.verbs import (
    alarms,
    begin,
    choose,
    credit,
    elapse,
    ignore,
    observe,
    play,
    sample_values,
    uncredit,
    unwait,
    wait,
)
from foretell.types import Bools, Floats, Problem


@register(
    "nsd-psrl-cp",
    stream=True,
    use="laws that change at an unknown pace, and a signal that is known to be enough",
    cost="O(K S)",
    version=7,
)
@dataclass(frozen=True)
class NsdPsrlCp(CensoredSpec):
    """Posterior sampling with a filter over when each action last changed: no window, no horizon.

    Each round draws, for every action, a time of its last change and a law from
    Dirichlet(1 + sharpness · signals since then), and a theta as `nsd-psrl` does, and plays the
    best action of the draw. `coupling` is the share of actions that change when one does: None
    learns it, 0 lets every action change on its own, 1 all at once. `idle` is how often resting
    actions are looked at again. With `sharpness` 1 laws are drawn from the posterior, above 1
    nearer to its mean. `robust` adds what the signals do not explain, or lets theta move, once a
    test says that it does. `ordered` and `signal_values` declare what is known about theta, see
    `foretell.policies.theta_spec`, `censored` and `typical_delay` that only conversions are
    reported, see `foretell.policies.censored_spec`; what the signals do not explain is then
    learned from closed windows alone. The filter reads the stream of signals.
    """

    coupling: float | None = option(None)
    """Share of actions that change when one does; None learns it."""
    idle: float = option(0.15)
    """How often resting actions are looked at again."""
    sharpness: float = option(2.0)
    """How near to their mean laws are drawn; 1 draws from the posterior."""
    robust: bool = option(default=False)
    """Whether to add what signals do not explain, or let theta move, once a test finds it."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        if self.coupling is not None and not 0.0 <= self.coupling <= 1.0:
            raise InvalidInput(
                f"coupling is the share of actions that change together, in [0, 1], "
                f"got {self.coupling!r}: leave it out to learn it"
            )
        if not 0.0 <= self.idle < math.inf:
            raise InvalidInput(f"idle must be a finite number of at least 0, got {self.idle!r}")
        if not 0.0 < self.sharpness < math.inf:
            raise InvalidInput(
                f"sharpness must be a finite number above 0, got {self.sharpness!r}: "
                f"1 draws laws from the posterior"
            )
        check_flag("robust", self.robust)


class NsdPsrlCpState(NamedTuple):
    """When each action may have changed and its signals since, and theta from every reward."""

    gaussian: bool
    sharpness: float
    runs: RunLengths
    theta: Rewards
    prior: ThetaPrior
    open: OpenRewards
    scratch: Floats
    scratch_theta: Floats
    scratch_new: Bools
    """(actions,): whether a law was drawn that another action's change suggests."""


class RobustPsrlCpState(NamedTuple):
    """The same, what the signals do not explain, and a theta that may move."""

    base: NsdPsrlCpState
    residual: Residual
    moving: MovingTheta


@begin.register(NsdPsrlCp)
def _begin(spec: NsdPsrlCp, problem: Problem) -> NsdPsrlCpState | RobustPsrlCpState:
    actions, signals = problem.actions, problem.signals
    coupling = LEARNED if spec.coupling is None else float(spec.coupling)
    gaussian = problem.rewards == "gaussian"
    base = NsdPsrlCpState(
        gaussian=gaussian,
        sharpness=float(spec.sharpness),
        runs=new_run_lengths(actions, signals, float(spec.idle), coupling),
        theta=new_rewards(signals),
        prior=new_theta_prior(spec, problem),
        open=new_open_rewards(spec, problem),
        scratch=np.zeros(actions),
        scratch_theta=np.zeros(signals),
        scratch_new=np.zeros(actions, np.bool_),
    )
    if not spec.robust:
        return base
    return RobustPsrlCpState(
        base,
        new_residual(actions, signals, gaussian=gaussian),
        new_moving_theta(signals, gaussian=gaussian),
    )


@kernel
def _sample_value(
    runs: RunLengths,
    action: int,
    index: int,
    sharpness: float,
    theta: Floats,
    rng: np.random.Generator,
) -> float:
    """Draw p ~ Dirichlet(1 + sharpness · signals of a hypothesis), if any, and return p·theta."""
    mass = 0.0
    value = 0.0
    for signal in range(theta.size):
        count = runs.counts[action, index, signal] if index >= 0 else 0
        weight = rng.standard_gamma(1.0 + sharpness * count)
        mass += weight
        value += weight * theta[signal]
    return value / mass


@kernel
def _sample(
    state: NsdPsrlCpState,
    rewards: Rewards,
    t: int,
    sharpness: float,
    out: Floats,
    rng: np.random.Generator,
) -> None:
    """Draw the value of every action, from the posterior where `sharpness` is 1.

    Theta is drawn from `rewards`.
    """
    theta = state.scratch_theta
    sample_known_theta(rewards, state.prior, state.open, state.gaussian, theta, rng)
    rate = resting_rate(state.runs)
    for action in range(out.size):
        index = draw_run(state.runs, action, t, rate, rng)
        out[action] = _sample_value(state.runs, action, index, sharpness, theta, rng)
        state.scratch_new[action] = is_new(state.runs, action, index)


@kernel
def _sample_robust(
    state: RobustPsrlCpState, t: int, sharpness: float, out: Floats, rng: np.random.Generator
) -> None:
    """Do the same with a theta that moves, or with what the signals do not explain."""
    if theta_moves(state.moving, state.residual.evidence[0]):
        if state.base.open.width > 0:
            fit_delays(state.base.open, state.base.theta)
        draw_since(state.moving, rng)
        _sample(state.base, state.moving.scratch_since, t, sharpness, out, rng)
        return
    _sample(state.base, state.base.theta, t, sharpness, out, rng)
    if doubted(state.residual):
        for action in range(out.size):
            luck = rng.standard_normal()
            if not state.base.scratch_new[action]:
                out[action] += state.residual.mean[action]
                out[action] += state.residual.deviation[action] * luck


@sample_values.register(NsdPsrlCpState)
def _sample_values(state: NsdPsrlCpState, t: int, out: Floats, rng: np.random.Generator) -> None:
    _sample(state, state.theta, t, 1.0, out, rng)


@sample_values.register(RobustPsrlCpState)
def _sample_values_robust(
    state: RobustPsrlCpState, t: int, out: Floats, rng: np.random.Generator
) -> None:
    _sample_robust(state, t, 1.0, out, rng)


@choose.register(NsdPsrlCpState)
def _choose(state: NsdPsrlCpState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    _sample(state, state.theta, t, state.sharpness, state.scratch, rng)
    return argmax(state.scratch, eligible, rng)


@choose.register(RobustPsrlCpState)
def _choose_robust(
    state: RobustPsrlCpState, t: int, eligible: Bools, rng: np.random.Generator
) -> int:
    values = state.base.scratch
    _sample_robust(state, t, state.base.sharpness, values, rng)
    return argmax(values, eligible, rng)


ignore(NsdPsrlCpState, play)
ignore(RobustPsrlCpState, play)
learn_on_views(NsdPsrlCpState, RobustPsrlCpState)


@observe.register(NsdPsrlCpState)
def _observe(state: NsdPsrlCpState, t: int, action: int, signal: int) -> None:
    run_observe(state.runs, action, t, signal)


@observe.register(RobustPsrlCpState)
def _observe_robust(state: RobustPsrlCpState, t: int, action: int, signal: int) -> None:
    runs = state.base.runs
    state.residual.open.seen[action][signal] += 1
    if run_observe(runs, action, t, signal):
        residual_close(state.residual, action, runs.start[action][0])
        for each in range(runs.counts.shape[2]):
            residual_keep(state.residual, action, each, runs.counts[action][0][each])
    residual_update(state.residual, state.base.theta, action)


@credit.register(NsdPsrlCpState)
def _credit(state: NsdPsrlCpState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)
    open_changed(state.open)


@credit.register(RobustPsrlCpState)
def _credit_robust(
    state: RobustPsrlCpState, t: int, action: int, signal: int, reward: float
) -> None:
    residual_credit(state.residual, state.base.theta, t, action, signal, reward)
    moving_credit(state.moving, state.base.theta, t, signal, reward)
    add_reward(state.base.theta, signal, reward)
    open_changed(state.base.open)


@uncredit.register(NsdPsrlCpState)
def _uncredit(state: NsdPsrlCpState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.theta, signal, reward)
    open_changed(state.open)


@elapse.register(NsdPsrlCpState)
def _elapse(state: NsdPsrlCpState, now: int) -> None:
    open_elapse(state.open, now)


@wait.register(NsdPsrlCpState)
def _wait(
    state: NsdPsrlCpState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    open_count(state.open, made, signal, delay, reward, closed, 1)


@unwait.register(NsdPsrlCpState)
def _unwait(
    state: NsdPsrlCpState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    open_count(state.open, made, signal, delay, reward, closed, -1)


@elapse.register(RobustPsrlCpState)
def _elapse_robust(state: RobustPsrlCpState, now: int) -> None:
    open_elapse(state.base.open, now)


@wait.register(RobustPsrlCpState)
def _wait_robust(
    state: RobustPsrlCpState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    wait(state.base, made, signal, delay, reward, closed)


@unwait.register(RobustPsrlCpState)
def _unwait_robust(
    state: RobustPsrlCpState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    unwait(state.base, made, signal, delay, reward, closed)


@alarms.register(NsdPsrlCpState)
def _alarms(state: NsdPsrlCpState) -> int:
    """Return the changes found, each once: not the actions that are found to have joined it."""
    return state.runs.tally[CHANGES]


@alarms.register(RobustPsrlCpState)
def _alarms_robust(state: RobustPsrlCpState) -> int:
    return state.base.runs.tally[CHANGES]
