"""Signal-GLR KL-UCB: restarts on signals, and ranks actions by rewards alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.glr_kl_ucb import check_forced_share
from foretell.policies.kl_ucb import exploration, kl_index, write_level
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.forced_exploration import doubled_horizon, is_slot, usual_share
from foretell.policies.parts.kl_argmax import kl_argmax
from foretell.policies.parts.prefix_grid import PrefixGrid, grid_add, grid_forget, new_prefix_grid
from foretell.policies.parts.signal_change_test import LogGammas, change_statistic, log_gammas
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards
from foretell.policies.registry import register
from foretell.policies.spec import Spec, check_delta, option
from foretell.policies.verbs import alarms, begin, choose, credit, indices, observe, play
from foretell.types import Bools, Floats, Ints, Problem


@register(
    "signal-glr-kl-ucb",
    rewards=("bounded",),
    stream=True,
    needs=("horizon",),
    use="signals that change with the rewards and yet do not determine them: a safe reference",
    cost="O(K + S log t)",
)
@dataclass(frozen=True)
class SignalGlrKlUcb(Spec):
    """KL-UCB on delayed rewards that restarts when the early signals change.

    Each signal is tested with its action's earlier ones; at an alarm all actions are forgotten,
    or with `local` that one only, and rewards of earlier rounds no longer count. The test raises
    a false alarm, ever, with probability `delta` at most. `alpha` is the share of forced
    exploration (None: sqrt(K ln T / T)). The test reads the stream of signals.
    """

    delta: float = 0.05
    """Probability that the change test ever raises a false alarm."""
    local: bool = option(default=False)
    """Whether an alarm restarts only the action that raised it."""
    alpha: float | None = option(None)
    """Share of forced exploration; None is sqrt(K ln T / T)."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_delta(self.delta)
        check_forced_share(self.alpha)


class SignalGlrKlUcbState(NamedTuple):
    """Signals and rewards since the restart, by action, and the forced rounds."""

    delta: float
    local: bool
    alpha: float
    """−1 for the usual share."""
    horizon: int
    """0 where it is unknown."""
    grid: PrefixGrid
    rewards: Rewards
    since: Ints
    """(actions,): the first round of each action's memory."""
    forced: Ints
    """(actions,): the round after its latest forced play."""
    clock: Ints
    """(2,): the rounds played, and the restarts so far."""
    scratch_gammas: LogGammas
    scratch: Floats
    scratch_levels: Floats


@begin.register(SignalGlrKlUcb)
def _begin(spec: SignalGlrKlUcb, problem: Problem) -> SignalGlrKlUcbState:
    actions, signals = problem.actions, problem.signals
    return SignalGlrKlUcbState(
        delta=float(spec.delta),
        local=bool(spec.local),
        alpha=-1.0 if spec.alpha is None else float(spec.alpha),
        horizon=problem.horizon or 0,
        grid=new_prefix_grid(actions, signals, problem.horizon),
        rewards=new_rewards(actions),
        since=np.zeros(actions, np.int64),
        forced=np.zeros(actions, np.int64),
        clock=np.zeros(2, np.int64),
        scratch_gammas=log_gammas(signals, problem.horizon),
        scratch=np.zeros(actions),
        scratch_levels=np.zeros(actions),
    )


@kernel
def _is_forced(state: SignalGlrKlUcbState, t: int) -> bool:
    share = state.alpha
    if share < 0.0:
        share = usual_share(state.forced.size, doubled_horizon(state.horizon, t))
    return is_slot(t, state.forced.size, share)


@indices.register(SignalGlrKlUcbState)
def _indices(state: SignalGlrKlUcbState, t: int, out: Floats) -> None:
    """Write the KL-UCB indices, or, in a forced round, how long each action has waited."""
    forced = _is_forced(state, t)
    for action in range(out.size):
        if forced:
            out[action] = t - state.forced[action]
        else:
            level = exploration(t + 1.0 - state.since[action], 0.0)
            out[action] = kl_index(state.rewards, action, level)


@choose.register(SignalGlrKlUcbState)
def _choose(state: SignalGlrKlUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    if _is_forced(state, t):
        indices(state, t, state.scratch)
        return argmax(state.scratch, eligible, rng)
    for action in range(eligible.size):
        level = exploration(t + 1.0 - state.since[action], 0.0)
        write_level(state.rewards, action, level, state.scratch, state.scratch_levels)
    return kl_argmax(state.scratch, state.scratch_levels, eligible, rng)


@play.register(SignalGlrKlUcbState)
def _play(state: SignalGlrKlUcbState, t: int, action: int) -> None:
    if _is_forced(state, t):
        state.forced[action] = t + 1
    state.clock[0] = t + 1


@observe.register(SignalGlrKlUcbState)
def _observe(state: SignalGlrKlUcbState, t: int, action: int, signal: int) -> None:
    if t < state.since[action]:
        return
    grid_add(state.grid, action, signal, 1)
    episode = state.clock[1] + 1.0
    threshold = math.log(state.since.size * episode * (episode + 1.0) / state.delta)
    if change_statistic(state.grid, action, state.scratch_gammas) < threshold:
        return
    state.clock[1] += 1
    for other in range(state.since.size):
        if other == action or not state.local:
            grid_forget(state.grid, other)
            state.rewards.counts[other] = 0
            state.rewards.grains[other] = 0
            state.since[other] = state.clock[0]


@credit.register(SignalGlrKlUcbState)
def _credit(state: SignalGlrKlUcbState, t: int, action: int, signal: int, reward: float) -> None:
    if t >= state.since[action]:
        add_reward(state.rewards, action, reward)


@alarms.register(SignalGlrKlUcbState)
def _alarms(state: SignalGlrKlUcbState) -> int:
    return state.clock[1]
