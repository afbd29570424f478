"""NSD-KL-GLR: NSD-KL that restarts when the stream of signals shows a change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.glr_restarts import (
    KlGlrState,
    count_alarms,
    new_kl_glr,
    observe_signal,
    play_action,
    prepare,
    unplay_action,
)
from foretell.policies.parts.kl_bounds import best_candidate
from foretell.policies.parts.klmax import klmax
from foretell.policies.parts.ordered_theta import new_theta_prior
from foretell.policies.parts.residual import (
    Residual,
    doubted,
    new_residual,
    residual_close,
    residual_credit,
    residual_keep,
    residual_update,
)
from foretell.policies.parts.theta import add_reward
from foretell.policies.parts.theta_bounds import bounds_update
from foretell.policies.registry import register
from foretell.policies.spec import check_delta, check_flag, option
from foretell.policies.theta_spec import ThetaSpec
from foretell.policies.verbs import (
    alarms,
    begin,
    choose,
    credit,
    indices,
    observe,
    play,
    unplay,
)
from foretell.types import Bools, Floats, Problem


@register(
    "nsd-kl-glr",
    rewards=("bounded",),
    stream=True,
    use="sudden changes, where false alarms must have a guarantee",
    cost="O(K S + S log t)",
    version=2,
)
@dataclass(frozen=True)
class NsdKlGlr(ThetaSpec):
    """NSD-KL with restarts: a test on the signals says when, and theta is kept.

    The test raises a false alarm, ever, with probability `alarm` at most. An alarm makes all
    actions forget their law, or with `local` only the one that raised it; with `reseed` that one
    keeps the signals after the likeliest change. `forced` is the pace of forced plays (0: none):
    an action that waited longer than sqrt(K (t − t0)) / forced rounds is played. `robust` adds
    what the signals do not explain, once a test says that there is something. `ordered` and
    `signal_values` declare what is known about theta, see `foretell.policies.theta_spec`. The
    test reads the stream of signals.
    """

    delta: float = 0.1
    """Error probability of the confidence bounds."""
    alarm: float = option(0.05)
    """Probability that the change test ever raises a false alarm."""
    local: bool = option(default=False)
    """Whether an alarm restarts only the action that raised it."""
    reseed: bool = option(default=True)
    """Whether the action that raised an alarm keeps the signals after the likeliest change."""
    forced: float = option(0.25)
    """Pace of forced plays of resting actions; 0 is none."""
    robust: bool = option(default=False)
    """Whether to add what the signals do not explain, once a test finds something."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_delta(self.delta)
        check_delta(self.alarm)
        for name in ("local", "reseed", "robust"):
            check_flag(name, getattr(self, name))
        if not 0.0 <= self.forced < math.inf:
            raise InvalidInput(
                f"forced must be a finite number of at least 0, got {self.forced!r}: "
                f"0 means no forced plays"
            )


class RobustKlGlrState(NamedTuple):
    """The memory, and what the signals do not explain."""

    base: KlGlrState
    residual: Residual


@begin.register(NsdKlGlr)
def _begin(spec: NsdKlGlr, problem: Problem) -> KlGlrState | RobustKlGlrState:
    base = new_kl_glr(
        problem,
        new_theta_prior(spec, problem),
        float(spec.delta),
        float(spec.alarm),
        float(spec.forced),
        local=spec.local,
        reseed=spec.reseed,
    )
    if not spec.robust:
        return base
    residual = new_residual(problem.actions, problem.signals, gaussian=False)
    return RobustKlGlrState(base, residual)


@kernel
def _solve_all(state: KlGlrState, out: Floats) -> None:
    """Write rho⁺(a) where `prepare` left a level."""
    upper = state.bounds.upper
    for action in range(out.size):
        level = state.scratch_levels[action]
        if level >= 0.0:
            out[action] = klmax(state.counts, action, state.seen[action], upper, level)


@kernel
def _add_residual(state: RobustKlGlrState, out: Floats) -> None:
    """Add what the signals do not explain, optimistically, once the model is doubted."""
    if doubted(state.residual):
        for action in range(out.size):
            out[action] += state.residual.mean[action] + 2.0 * state.residual.deviation[action]


@indices.register(KlGlrState)
def _indices(state: KlGlrState, t: int, out: Floats) -> None:
    """Write rho⁺(a); +inf for an action without a signal, or due for a forced play."""
    prepare(state, t, state.scratch_all, out)
    _solve_all(state, out)


@indices.register(RobustKlGlrState)
def _indices_robust(state: RobustKlGlrState, t: int, out: Floats) -> None:
    prepare(state.base, t, state.base.scratch_all, out)
    _solve_all(state.base, out)
    _add_residual(state, out)


@choose.register(KlGlrState)
def _choose(state: KlGlrState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    prepare(state, t, eligible, state.scratch)
    best_candidate(
        state.scratch, state.scratch_levels, state.counts, state.seen, state.bounds.upper
    )
    return argmax(state.scratch, eligible, rng)


@choose.register(RobustKlGlrState)
def _choose_robust(
    state: RobustKlGlrState, t: int, eligible: Bools, rng: np.random.Generator
) -> int:
    values = state.base.scratch
    prepare(state.base, t, eligible, values)
    _solve_all(state.base, values)
    _add_residual(state, values)
    return argmax(values, eligible, rng)


@play.register(KlGlrState)
def _play(state: KlGlrState, t: int, action: int) -> None:
    play_action(state, t, action)


@play.register(RobustKlGlrState)
def _play_robust(state: RobustKlGlrState, t: int, action: int) -> None:
    play_action(state.base, t, action)


@unplay.register(KlGlrState)
def _unplay(state: KlGlrState, t: int, action: int) -> None:
    unplay_action(state, t, action)


@unplay.register(RobustKlGlrState)
def _unplay_robust(state: RobustKlGlrState, t: int, action: int) -> None:
    unplay_action(state.base, t, action)


@observe.register(KlGlrState)
def _observe(state: KlGlrState, t: int, action: int, signal: int) -> None:
    observe_signal(state, t, action, signal)


@observe.register(RobustKlGlrState)
def _observe_robust(state: RobustKlGlrState, t: int, action: int, signal: int) -> None:
    base = state.base
    if t >= base.since[action]:
        state.residual.open.seen[action, signal] += 1
    if observe_signal(base, t, action, signal):
        for other in range(base.seen.size):
            if other == action or not base.local:
                residual_close(state.residual, other, base.clock[0])
                for each in range(base.counts.shape[1]):
                    residual_keep(state.residual, other, each, base.counts[other, each])
    residual_update(state.residual, base.theta, action)


@credit.register(KlGlrState)
def _credit(state: KlGlrState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)
    bounds_update(state.bounds, state.theta, signal, state.delta)


@credit.register(RobustKlGlrState)
def _credit_robust(
    state: RobustKlGlrState, t: int, action: int, signal: int, reward: float
) -> None:
    base = state.base
    residual_credit(state.residual, base.theta, t, action, signal, reward)
    add_reward(base.theta, signal, reward)
    bounds_update(base.bounds, base.theta, signal, base.delta)


@alarms.register(KlGlrState)
def _alarms(state: KlGlrState) -> int:
    return count_alarms(state)


@alarms.register(RobustKlGlrState)
def _alarms_robust(state: RobustKlGlrState) -> int:
    return count_alarms(state.base)
