"""What `nsd-kl-glr` knows: signals since the last alarm, bounds of theta, and the alarms.

An alarm of the change test restarts the law, with or without the signals after the
likeliest moment of the change; theta is kept.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.kl_bounds import action_level, with_pending
from foretell.policies.parts.ordered_theta import ThetaPrior
from foretell.policies.parts.prefix_grid import PrefixGrid, grid_add, grid_forget, new_prefix_grid
from foretell.policies.parts.signal_change_test import (
    LogGammas,
    change_statistic,
    likeliest_split,
    log_gammas,
)
from foretell.policies.parts.theta import Rewards, new_rewards
from foretell.policies.parts.theta_bounds import ThetaBounds, new_theta_bounds
from foretell.types import Bools, Floats, Ints, Problem


class KlGlrState(NamedTuple):
    """Signals since the restart, theta from every reward, and what the alarms need."""

    delta: float
    alarm: float
    local: bool
    reseed: bool
    forced: float
    grid: PrefixGrid
    counts: Ints
    """(actions, signals): the signals that the index uses."""
    seen: Ints
    """(actions,): their sum."""
    pending: Ints
    """(actions,): plays since the restart whose signal is still to come."""
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
    bounds: ThetaBounds
    scratch_gammas: LogGammas
    scratch: Floats
    scratch_levels: Floats
    scratch_all: Bools


def new_kl_glr(
    problem: Problem,
    prior: ThetaPrior,
    delta: float,
    alarm: float,
    forced: float,
    *,
    local: bool,
    reseed: bool,
) -> KlGlrState:
    """Return what is known before the first round: what is declared about theta."""
    actions, signals = problem.actions, problem.signals
    theta = new_rewards(signals)
    return KlGlrState(
        delta=delta,
        alarm=alarm,
        local=local,
        reseed=reseed,
        forced=forced,
        grid=new_prefix_grid(actions, signals, problem.horizon),
        counts=np.zeros((actions, signals), np.int64),
        seen=np.zeros(actions, np.int64),
        pending=np.zeros(actions, np.int64),
        ever=np.zeros(actions, np.int64),
        rank=np.ones(actions, np.int64),
        alarms=np.zeros(actions, np.int64),
        since=np.zeros(actions, np.int64),
        last=np.zeros(actions, np.int64),
        clock=np.zeros(1, np.int64),
        theta=theta,
        bounds=new_theta_bounds(prior, theta, delta),
        scratch_gammas=log_gammas(signals, problem.horizon),
        scratch=np.zeros(actions),
        scratch_levels=np.zeros(actions),
        scratch_all=np.ones(actions, np.bool_),
    )


@kernel
def _waits(state: KlGlrState, t: int, action: int) -> bool:
    """Return whether an action is due for a forced play."""
    if state.forced == 0.0:
        return False
    longest_wait = math.sqrt(state.last.size * (t - state.since[action] + 1.0)) / state.forced
    return t - state.last[action] > longest_wait


@kernel
def prepare(state: KlGlrState, t: int, eligible: Bools, values: Floats) -> None:
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
            seen = state.seen[action]
            level = action_level(values.size, seen, float(state.rank[action]), state.delta)
            state.scratch_levels[action] = with_pending(level, seen, seen + state.pending[action])
        if _waits(state, t, action) and (stalest < 0 or state.last[action] < state.last[stalest]):
            stalest = action
    if stalest >= 0:
        values[stalest] = math.inf
        state.scratch_levels[stalest] = -1.0


@kernel
def _restart(state: KlGlrState, action: int, first: int) -> None:
    """Let an action forget its law, which changed in or before round `first`."""
    grid_forget(state.grid, action)
    state.counts[action, :] = 0
    state.seen[action] = 0
    state.pending[action] = 0
    state.alarms[action] += 1
    state.rank[action] = state.alarms[action] + 1
    state.since[action] = first


@kernel
def _alarm(state: KlGlrState, action: int) -> None:
    """Restart after an alarm of an action, which may keep the signals after the change."""
    grid = state.grid
    split, level, index = likeliest_split(grid, action, state.scratch_gammas)
    for other in range(state.seen.size):
        if other != action and not state.local:
            _restart(state, other, state.clock[0])
    if not state.reseed:
        _restart(state, action, state.clock[0])
        return
    kept = grid.length[action] - split
    for signal in range(grid.total.shape[1]):
        # what was kept of the grid stays readable; only its totals are cleared by a restart
        grid.kept[action, level, index, signal] = (
            grid.total[action, signal] - grid.kept[action, level, index, signal]
        )
    _restart(state, action, state.clock[0])
    state.rank[action] = state.ever[action] - kept + 1
    state.seen[action] = kept
    for signal in range(grid.total.shape[1]):
        state.counts[action, signal] = grid.kept[action, level, index, signal]


@kernel
def play_action(state: KlGlrState, t: int, action: int) -> None:
    """Let an action wait for the signal of round t."""
    state.pending[action] += 1
    state.last[action] = t + 1
    state.clock[0] = t + 1


@kernel
def unplay_action(state: KlGlrState, t: int, action: int) -> None:
    """Wait no longer for the signal of round t."""
    if t >= state.since[action]:
        state.pending[action] -= 1


@kernel
def observe_signal(state: KlGlrState, t: int, action: int, signal: int) -> bool:
    """Learn a signal; return whether it raised an alarm."""
    if t < state.since[action]:
        return False
    grid_add(state.grid, action, signal, 1)
    state.counts[action, signal] += 1
    state.seen[action] += 1
    state.pending[action] -= 1
    state.ever[action] += 1
    memory = state.alarms[action] + 1.0
    threshold = math.log(state.seen.size * memory * (memory + 1.0) / state.alarm)
    if change_statistic(state.grid, action, state.scratch_gammas) < threshold:
        return False
    _alarm(state, action)
    return True


@kernel
def count_alarms(state: KlGlrState) -> int:
    """Return the alarms so far: one restarts all memories, or with `local` that of one action."""
    if not state.local:
        return state.alarms[0]
    total = 0
    for action in range(state.alarms.size):
        total += state.alarms[action]
    return total
