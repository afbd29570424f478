"""GLR-klUCB: KL-UCB that restarts when an action's rewards change [Besson2022]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.kl_ucb import check_loglog, exploration
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.bernoulli_kl import kl_upper
from foretell.policies.parts.forced_exploration import doubled_horizon, is_slot, usual_share
from foretell.policies.parts.kl_argmax import kl_argmax
from foretell.policies.parts.prefix_grid import PrefixGrid, grid_add, grid_forget, new_prefix_grid
from foretell.policies.parts.reward_change_test import glr_statistic, glr_threshold
from foretell.policies.parts.theta import to_grains
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_delta, check_flag, option
from foretell.policies.verbs import alarms, begin, choose, credit, ignore, indices, observe, play
from foretell.types import GRAIN, Bools, Floats, Ints, Problem


@register(
    "glr-kl-ucb",
    rewards=("bounded",),
    stream=True,
    needs=("horizon",),
    use="sudden changes, signals that say nothing about rewards, short delays",
    cost="O(K + log t)",
    version=2,
)
@dataclass(frozen=True)
class GlrKlUcb(Spec):
    """KL-UCB on delayed rewards that restarts when a GLR test on them sees a change.

    Each arriving reward is tested with its action's earlier ones; at an alarm all actions are
    forgotten, or with `local` that one only. `alpha` is the share of forced exploration (None:
    sqrt(K ln T / T)), with `growing` times the root of the restarts so far plus 1. `delta` is the
    error probability of the test (None: 1 / sqrt(T)), `c` the factor of ln ln t in the index. The
    test reads the stream of rewards as they arrive.
    """

    local: bool = option(default=False)
    """Whether an alarm restarts only the action that raised it."""
    alpha: float | None = option(None)
    """Share of forced exploration; None is sqrt(K ln T / T)."""
    delta: float | None = option(None)
    """Error probability of the change test; None is 1 / sqrt(T)."""
    c: float = option(0.0)
    """Factor of ln ln t in the index."""
    growing: bool = option(default=False)
    """Whether forced exploration grows with the root of the restarts so far."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_forced_share(self.alpha)
        if self.delta is not None:
            check_delta(self.delta)
        check_loglog(self.c)
        check_flag("growing", self.growing)


def check_forced_share(alpha: float | None) -> None:
    """Refuse a share of forced exploration outside [0, 1]."""
    if alpha is not None and not 0.0 <= alpha <= 1.0:
        raise InvalidInput(
            f"alpha is the share of forced rounds, in [0, 1], got {alpha!r}: leave it out for "
            f"the paper's"
        )


class GlrKlUcbState(NamedTuple):
    """Rewards since the restart, by action, and the forced rounds."""

    local: bool
    growing: bool
    horizon: int
    """0 where it is unknown."""
    alpha: float
    """−1 for the paper's."""
    delta: float
    """0 for the paper's."""
    c: float
    grid: PrefixGrid
    since: Ints
    """(actions,): the first round of each action's memory."""
    forced: Ints
    """(actions,): the round after its latest forced play."""
    clock: Ints
    """(2,): the rounds played, and the restarts so far."""
    scratch: Floats
    scratch_levels: Floats


@begin.register(GlrKlUcb)
def _begin(spec: GlrKlUcb, problem: Problem) -> GlrKlUcbState:
    return GlrKlUcbState(
        local=bool(spec.local),
        growing=bool(spec.growing),
        horizon=problem.horizon or 0,
        alpha=-1.0 if spec.alpha is None else float(spec.alpha),
        delta=0.0 if spec.delta is None else float(spec.delta),
        c=float(spec.c),
        grid=new_prefix_grid(problem.actions, 1, problem.horizon),
        since=np.zeros(problem.actions, np.int64),
        forced=np.zeros(problem.actions, np.int64),
        clock=np.zeros(2, np.int64),
        scratch=np.zeros(problem.actions),
        scratch_levels=np.zeros(problem.actions),
    )


@kernel
def _is_forced(state: GlrKlUcbState, t: int) -> bool:
    share = state.alpha
    if share < 0.0:
        share = usual_share(state.forced.size, doubled_horizon(state.horizon, t))
    if state.growing:
        share = min(1.0, share * math.sqrt(state.clock[1] + 1.0))
    return is_slot(t, state.forced.size, share)


@indices.register(GlrKlUcbState)
def _indices(state: GlrKlUcbState, t: int, out: Floats) -> None:
    """Write the KL-UCB indices, or, in a forced round, how long each action has waited."""
    forced = _is_forced(state, t)
    for action in range(out.size):
        received = state.grid.length[action]
        if forced:
            out[action] = t - state.forced[action]
        elif received == 0:
            out[action] = math.inf
        else:
            mean = state.grid.total[action, 0] / (GRAIN * received)
            level = exploration(t + 1.0 - state.since[action], state.c)
            out[action] = kl_upper(mean, level / received)


@choose.register(GlrKlUcbState)
def _choose(state: GlrKlUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    if _is_forced(state, t):
        indices(state, t, state.scratch)
        return argmax(state.scratch, eligible, rng)
    for action in range(eligible.size):
        received = state.grid.length[action]
        state.scratch[action] = state.grid.total[action, 0] / (GRAIN * max(1, received))
        level = exploration(t + 1.0 - state.since[action], state.c)
        state.scratch_levels[action] = level / received if received > 0 else math.inf
    return kl_argmax(state.scratch, state.scratch_levels, eligible, rng)


@play.register(GlrKlUcbState)
def _play(state: GlrKlUcbState, t: int, action: int) -> None:
    if _is_forced(state, t):
        state.forced[action] = t + 1
    state.clock[0] = t + 1


ignore(GlrKlUcbState, observe)


@credit.register(GlrKlUcbState)
def _credit(state: GlrKlUcbState, t: int, action: int, signal: int, reward: float) -> None:
    grid_add(state.grid, action, 0, to_grains(reward))
    delta = state.delta
    if delta == 0.0:
        delta = 1.0 / math.sqrt(float(doubled_horizon(state.horizon, state.clock[0])))
    threshold = glr_threshold(state.grid.length[action], delta)
    if glr_statistic(state.grid, action) < threshold:
        return
    state.clock[1] += 1
    for other in range(state.since.size):
        if other == action or not state.local:
            grid_forget(state.grid, other)
            state.since[other] = state.clock[0]


@alarms.register(GlrKlUcbState)
def _alarms(state: GlrKlUcbState) -> int:
    return state.clock[1]
