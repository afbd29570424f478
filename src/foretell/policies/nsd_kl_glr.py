"""NSD-KL-GLR: NSD-KL that restarts when the stream of signals shows a change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.argmax import argmax
from foretell.policies.kl_bounds import action_level, best_candidate, upper_mean
from foretell.policies.klmax import klmax
from foretell.policies.prefix_grid import PrefixGrid, grid_add, grid_forget, new_prefix_grid
from foretell.policies.registry import register
from foretell.policies.residual import (
    Residual,
    doubted,
    new_residual,
    residual_close,
    residual_credit,
    residual_keep,
    residual_predict,
    residual_refresh,
)
from foretell.policies.signal_change_test import LogGammas, change_statistic, log_gammas
from foretell.policies.spec import Spec, check_delta, check_flag, option
from foretell.policies.split import likeliest_split
from foretell.policies.theta import Rewards, add_reward, new_rewards
from foretell.policies.verbs import begin, choose, credit, indices, observe, play
from foretell.types import Bools, Floats, Ints, Problem


@register(
    "nsd-kl-glr",
    rewards=("bounded",),
    stream=True,
    use="sudden changes, where false alarms must have a guarantee",
    cost="O(K S + S log t)",
)
@dataclass(frozen=True)
class NsdKlGlr(Spec):
    """NSD-KL with restarts: a test on the signals says when, and theta is kept.

    The test raises a false alarm, ever, with probability `alarm` at most. An alarm makes all
    actions forget their law, or with `local` only the one that raised it; with `reseed` that one
    keeps the signals after the likeliest change. `forced` is the pace of forced plays (0: none):
    an action that waited longer than sqrt(K (t − t0)) / forced rounds is played. `robust` adds
    what the signals do not explain, once a test says that there is something. The test reads
    the stream of signals.
    """

    delta: float = 0.1
    alarm: float = option(0.05)
    local: bool = option(default=False)
    reseed: bool = option(default=True)
    forced: float = option(0.25)
    robust: bool = option(default=False)

    def __post_init__(self) -> None:
        """Check the fields."""
        check_delta(self.delta)
        check_delta(self.alarm)
        for name in ("local", "reseed", "robust"):
            check_flag(name, getattr(self, name))
        if not 0.0 <= self.forced < math.inf:
            raise InvalidInput(
                f"forced must be a finite number of at least 0, got {self.forced!r}: "
                f"0 means no forced plays"
            )


class NsdKlGlrState(NamedTuple):
    """Signals since the restart, theta from every reward, and what the alarms need."""

    delta: float
    alarm: float
    local: bool
    reseed: bool
    forced: float
    robust: bool
    grid: PrefixGrid
    counts: Ints
    """(actions, signals): the signals that the index uses."""
    seen: Ints
    """(actions,): their sum."""
    ever: Ints
    """(actions,): signals since the beginning."""
    rank: Ints
    """(actions,): which memory this is, or the rank of its first signal."""
    alarms: Ints
    """(actions,): alarms that this action's memory went through."""
    since: Ints
    """(actions,): the first round of each action's memory."""
    last: Ints
    """(actions,): the round after its latest play."""
    clock: Ints
    """(1,): the rounds played."""
    theta: Rewards
    upper: Floats
    residual: Residual
    scratch_gammas: LogGammas
    scratch: Floats
    scratch_levels: Floats
    scratch_all: Bools


@begin.register
def _begin(spec: NsdKlGlr, problem: Problem) -> NsdKlGlrState:
    actions, signals = problem.actions, problem.signals
    return NsdKlGlrState(
        delta=float(spec.delta),
        alarm=float(spec.alarm),
        local=spec.local,
        reseed=spec.reseed,
        forced=float(spec.forced),
        robust=spec.robust,
        grid=new_prefix_grid(actions, signals, problem.horizon),
        counts=np.zeros((actions, signals), np.int64),
        seen=np.zeros(actions, np.int64),
        ever=np.zeros(actions, np.int64),
        rank=np.ones(actions, np.int64),
        alarms=np.zeros(actions, np.int64),
        since=np.zeros(actions, np.int64),
        last=np.zeros(actions, np.int64),
        clock=np.zeros(1, np.int64),
        theta=new_rewards(signals),
        upper=np.ones(signals),
        residual=new_residual(actions, signals, gaussian=False),
        scratch_gammas=log_gammas(signals, problem.horizon),
        scratch=np.zeros(actions),
        scratch_levels=np.zeros(actions),
        scratch_all=np.ones(actions, np.bool_),
    )


@kernel
def _waits(state: NsdKlGlrState, t: int, action: int) -> bool:
    """Tell whether an action is due for a forced play."""
    if state.forced == 0.0:
        return False
    patience = math.sqrt(state.last.size * (t - state.since[action] + 1.0)) / state.forced
    return t - state.last[action] > patience


@kernel
def _prepare(state: NsdKlGlrState, t: int, eligible: Bools, values: Floats) -> None:
    """Write +inf for actions that must be played, their level for the others."""
    stalest = -1
    for action in range(values.size):
        values[action] = -math.inf
        state.scratch_levels[action] = -1.0
        if not eligible[action]:
            continue
        if state.seen[action] == 0:
            values[action] = math.inf
        else:
            state.scratch_levels[action] = action_level(
                values.size, state.seen[action], float(state.rank[action]), state.delta
            )
        if _waits(state, t, action) and (stalest < 0 or state.last[action] < state.last[stalest]):
            stalest = action
    if stalest >= 0:
        values[stalest] = math.inf
        state.scratch_levels[stalest] = -1.0


@kernel
def _extra(state: NsdKlGlrState, action: int) -> float:
    """Give what the signals do not explain, optimistically; 0 while the model stands."""
    if not (state.robust and doubted(state.residual)):
        return 0.0
    return state.residual.mean[action] + 2.0 * state.residual.deviation[action]


@indices.register
def _indices(state: NsdKlGlrState, t: int, out: Floats) -> None:
    """Write rho⁺(a); +inf for an action without a signal, or due for a forced play."""
    _prepare(state, t, state.scratch_all, out)
    for action in range(out.size):
        level = state.scratch_levels[action]
        if level >= 0.0:
            out[action] = klmax(state.counts, action, state.seen[action], state.upper, level)
            out[action] += _extra(state, action)


@choose.register
def _choose(state: NsdKlGlrState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    _prepare(state, t, eligible, state.scratch)
    if state.robust and doubted(state.residual):
        for action in range(state.scratch.size):
            level = state.scratch_levels[action]
            if level >= 0.0:
                state.scratch[action] = _extra(state, action) + klmax(
                    state.counts, action, state.seen[action], state.upper, level
                )
    else:
        best_candidate(state.scratch, state.scratch_levels, state.counts, state.seen, state.upper)
    return argmax(state.scratch, eligible, rng)


@play.register
def _play(state: NsdKlGlrState, t: int, action: int) -> None:
    state.last[action] = t + 1
    state.clock[0] = t + 1


@kernel
def _restart(state: NsdKlGlrState, action: int, first: int) -> None:
    """Let an action forget its law, which changed in or before round `first`."""
    grid_forget(state.grid, action)
    state.counts[action, :] = 0
    state.seen[action] = 0
    state.alarms[action] += 1
    state.rank[action] = state.alarms[action] + 1
    state.since[action] = first
    if state.robust:
        residual_close(state.residual, action, first)


@kernel
def _alarm(state: NsdKlGlrState, action: int) -> None:
    """Restart after an alarm of an action, which may keep the signals after the change."""
    grid = state.grid
    split, level, place = likeliest_split(grid, action, state.scratch_gammas)
    for other in range(state.seen.size):
        if other != action and not state.local:
            _restart(state, other, state.clock[0])
    if not state.reseed:
        _restart(state, action, state.clock[0])
        return
    kept = grid.length[action] - split
    for signal in range(grid.total.shape[1]):
        # what was kept of the grid stays readable; only its totals are cleared by a restart
        grid.kept[action, level, place, signal] = (
            grid.total[action, signal] - grid.kept[action, level, place, signal]
        )
    _restart(state, action, state.clock[0])
    state.rank[action] = state.ever[action] - kept + 1
    state.seen[action] = kept
    for signal in range(grid.total.shape[1]):
        count = grid.kept[action, level, place, signal]
        state.counts[action, signal] = count
        if state.robust:
            residual_keep(state.residual, action, signal, count)


@observe.register
def _observe(state: NsdKlGlrState, t: int, action: int, signal: int) -> None:
    if t < state.since[action]:
        return
    grid_add(state.grid, action, signal, 1)
    state.counts[action, signal] += 1
    state.seen[action] += 1
    state.ever[action] += 1
    if state.robust:
        state.residual.open.seen[action, signal] += 1
    memory = state.alarms[action] + 1.0
    threshold = math.log(state.seen.size * memory * (memory + 1.0) / state.alarm)
    if change_statistic(state.grid, action, state.scratch_gammas) >= threshold:
        _alarm(state, action)
    if state.robust:
        residual_predict(state.residual, state.theta, action)


@credit.register
def _credit(state: NsdKlGlrState, t: int, action: int, signal: int, reward: float) -> None:
    if state.robust:
        residual_credit(state.residual, state.theta, t, action, signal, reward)
    add_reward(state.theta, signal, reward)
    state.upper[signal] = upper_mean(state.theta, signal, state.delta)
    if state.robust:
        residual_refresh(state.residual, state.theta)
