"""NSD-KL: optimism in a KL ball whose size does not depend on the number of signals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.kl_bounds import action_level, best_candidate, upper_mean, with_pending
from foretell.policies.parts.klmax import klmax
from foretell.policies.parts.law import (
    Law,
    law_forget,
    law_observe,
    law_play,
    law_unobserve,
    law_unplay,
    new_law,
)
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, remove_reward
from foretell.policies.registry import register
from foretell.policies.spec import Spec, capped, check_delta, check_window
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    forget,
    indices,
    observe,
    play,
    uncredit,
    unobserve,
    unplay,
)
from foretell.types import Bools, Floats, Ints, Problem


@register(
    "nsd-kl",
    rewards=("bounded",),
    use="a stationary law, or a known pace of change, with a proof and without the horizon",
    cost="O(K S)",
)
@dataclass(frozen=True)
class NsdKl(Spec):
    """Optimism in a KL ball around the law, S-free and valid at all times at once.

    The index of an action is max{q·U : N KL(p, q) ≤ ln(2K e(e+1) / delta) + ln(N+1)/2 + ln 2},
    with U the upper bounds of theta. `window` is the number of rounds that the law remembers
    (None: all); e is 1, or with a window the rank of the oldest signal kept among all of its
    action. Plays whose signal is still to come count in the N of N KL only, so that a burst of
    decisions is spread. It uses neither the horizon nor the delay.
    """

    window: int | None = None
    delta: float = 0.1

    def __post_init__(self) -> None:
        """Check the fields."""
        check_window(self.window)
        check_delta(self.delta)


class NsdKlState(NamedTuple):
    """The law in the window, theta from every reward, and the upper bounds of theta."""

    delta: float
    law: Law
    theta: Rewards
    upper: Floats
    """(signals,): U_s, moved only by a reward of s."""
    plays: Ints
    """(actions,): plays since the beginning, in the window or not."""
    memories: Ints
    """(1,): how often the law was forgotten."""
    scratch: Floats
    scratch_levels: Floats


@begin.register(NsdKl)
def _begin(spec: NsdKl, problem: Problem) -> NsdKlState:
    return NsdKlState(
        delta=float(spec.delta),
        law=new_law(problem.actions, problem.signals, capped(spec.window, problem.horizon)),
        theta=new_rewards(problem.signals),
        upper=np.ones(problem.signals),
        plays=np.zeros(problem.actions, np.int64),
        memories=np.zeros(1, np.int64),
        scratch=np.zeros(problem.actions),
        scratch_levels=np.zeros(problem.actions),
    )


@kernel
def _level(state: NsdKlState, action: int) -> float:
    """Return the radius of an action's ball, −1 while none of its signals is in the window."""
    seen = state.law.seen[action]
    if seen == 0:
        return -1.0
    rank = 1.0 + state.memories[0]
    if state.law.window > 0:
        rank += state.plays[action] - state.law.plays[action]
    level = action_level(state.plays.size, seen, rank, state.delta)
    return with_pending(level, seen, state.law.plays[action])


@indices.register(NsdKlState)
def _indices(state: NsdKlState, t: int, out: Floats) -> None:
    """Write rho⁺(a); +inf for an action without a signal in the window."""
    law = state.law
    for action in range(out.size):
        level = _level(state, action)
        if level < 0.0:
            out[action] = math.inf
        else:
            out[action] = klmax(law.counts, action, law.seen[action], state.upper, level)


@choose.register(NsdKlState)
def _choose(state: NsdKlState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    for action in range(state.scratch.size):
        state.scratch[action] = math.inf if eligible[action] else -math.inf
        state.scratch_levels[action] = _level(state, action) if eligible[action] else -1.0
    best_candidate(
        state.scratch, state.scratch_levels, state.law.counts, state.law.seen, state.upper
    )
    return argmax(state.scratch, eligible, rng)


@play.register(NsdKlState)
def _play(state: NsdKlState, t: int, action: int) -> None:
    law_play(state.law, t, action)
    state.plays[action] += 1


@unplay.register(NsdKlState)
def _unplay(state: NsdKlState, t: int, action: int) -> None:
    law_unplay(state.law, t, action)
    state.plays[action] -= 1


@observe.register(NsdKlState)
def _observe(state: NsdKlState, t: int, action: int, signal: int) -> None:
    law_observe(state.law, t, action, signal)


@credit.register(NsdKlState)
def _credit(state: NsdKlState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)
    state.upper[signal] = upper_mean(state.theta, signal, state.delta)


@uncredit.register(NsdKlState)
def _uncredit(state: NsdKlState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.theta, signal, reward)
    state.upper[signal] = upper_mean(state.theta, signal, state.delta)


@unobserve.register(NsdKlState)
def _unobserve(state: NsdKlState, t: int, action: int, signal: int) -> None:
    law_unobserve(state.law, t, action, signal)


@forget.register(NsdKlState)
def _forget(state: NsdKlState) -> None:
    law_forget(state.law)
    state.memories[0] += 1
    state.plays[:] = 0
