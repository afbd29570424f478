"""NSD-KL: optimism in a KL ball whose size does not depend on the number of signals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.kl_bounds import action_level, best_candidate, with_pending
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
from foretell.policies.parts.ordered_theta import new_theta_prior, order_upper
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, remove_reward
from foretell.policies.parts.theta_bounds import (
    ThetaBounds,
    bound_signal,
    bounds_update,
    new_theta_bounds,
)
from foretell.policies.registry import register
from foretell.policies.spec import capped, check_delta, check_window, option
from foretell.policies.theta_spec import ThetaSpec
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

LEVELS = ("delta", "ln t")
"""How surely a bound holds: with probability delta at all times, or ever more surely."""


@register(
    "nsd-kl",
    rewards=("bounded",),
    use="a stationary law, or a known pace of change, with a proof and without the horizon",
    cost="O(K S)",
    version=2,
)
@dataclass(frozen=True)
class NsdKl(ThetaSpec):
    """Optimism in a KL ball around the law, S-free and valid at all times at once.

    The index of an action is max{q·U : N KL(p, q) ≤ ln(2K e(e+1) / delta) + ln(N+1)/2 + ln 2},
    with U the upper bounds of theta. `window` is the number of rounds that the law remembers
    (None: all); e is 1, or with a window the rank of the oldest signal kept among all of its
    action. Plays whose signal is still to come count in the N of N KL only, so that a burst of
    decisions is spread. It uses neither the horizon nor the delay.

    With `level="ln t"` both balls grow with time instead: n kl(theta_hat, U) ≤ ln t, and N KL ≤
    ln(1 + rounds that the law remembers). `delta` is then not used; an action that looked bad by
    accident is tried again, at the price of regret that grows as ln T.

    `ordered` lowers U where signals are listed weakest first, and `signal_values` count as
    rewards received before, see `foretell.policies.theta_spec`.
    """

    window: int | None = None
    """How many rounds the law remembers; None is all of them."""
    delta: float = 0.1
    """Error probability of the confidence bounds."""
    level: str = option("delta")
    """How wide the bounds are: fixed by `delta`, or growing as ln t."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_window(self.window)
        check_delta(self.delta)
        if self.level not in LEVELS:
            raise InvalidInput(
                f"level must be 'delta' or 'ln t', got {self.level!r}: 'delta' is the proved one"
            )


class NsdKlState(NamedTuple):
    """The law in the window, theta from every reward, and the upper bounds of theta."""

    delta: float
    law: Law
    theta: Rewards
    bounds: ThetaBounds
    plays: Ints
    """(actions,): plays since the beginning, in the window or not."""
    memories: Ints
    """(1,): how often the law was forgotten."""
    scratch: Floats
    scratch_levels: Floats


class NsdKlLogState(NamedTuple):
    """What is known, for bounds that grow with time: none of them can be kept."""

    base: NsdKlState
    earlier: Ints
    """(1,): rounds before the law was last forgotten."""
    scratch_bounds: ThetaBounds


@begin.register(NsdKl)
def _begin(spec: NsdKl, problem: Problem) -> NsdKlState | NsdKlLogState:
    theta = new_rewards(problem.signals)
    prior = new_theta_prior(spec, problem)
    base = NsdKlState(
        delta=float(spec.delta),
        law=new_law(problem.actions, problem.signals, capped(spec.window, problem.horizon)),
        theta=theta,
        bounds=new_theta_bounds(prior, theta, spec.delta),
        plays=np.zeros(problem.actions, np.int64),
        memories=np.zeros(1, np.int64),
        scratch=np.zeros(problem.actions),
        scratch_levels=np.zeros(problem.actions),
    )
    if spec.level == "delta":
        return base
    scratch = new_theta_bounds(prior, theta, spec.delta)
    return NsdKlLogState(base, np.zeros(1, np.int64), scratch)


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


@kernel
def _log_level(state: NsdKlState, t: int, action: int) -> float:
    """Return ln(1 + rounds remembered) / N, −1 while none of its signals is in the window."""
    law = state.law
    if law.seen[action] == 0:
        return -1.0
    rounds = t if law.window == 0 else min(t, law.window)
    return with_pending(
        math.log(1.0 + rounds) / law.seen[action], law.seen[action], law.plays[action]
    )


@kernel
def _write_upper(state: NsdKlLogState, t: int) -> None:
    """Write U_s = max{u : n_s kl(theta_hat_s, u) ≤ ln t}, t from 1; 1 without a reward."""
    bounds = state.scratch_bounds
    level = math.log(1.0 + state.earlier[0] + t)
    for signal in range(bounds.upper.size):
        bound_signal(bounds, state.base.theta, signal, level)
    if bounds.prior.ordered:
        order_upper(bounds.own, bounds.lower, bounds.upper)


@indices.register(NsdKlState)
def _indices(state: NsdKlState, t: int, out: Floats) -> None:
    """Write rho⁺(a); +inf for an action without a signal in the window."""
    law = state.law
    for action in range(out.size):
        level = _level(state, action)
        if level < 0.0:
            out[action] = math.inf
        else:
            out[action] = klmax(law.counts, action, law.seen[action], state.bounds.upper, level)


@indices.register(NsdKlLogState)
def _indices_log(state: NsdKlLogState, t: int, out: Floats) -> None:
    law = state.base.law
    upper = state.scratch_bounds.upper
    _write_upper(state, t)
    for action in range(out.size):
        level = _log_level(state.base, t, action)
        if level < 0.0:
            out[action] = math.inf
        else:
            out[action] = klmax(law.counts, action, law.seen[action], upper, level)


@choose.register(NsdKlState)
def _choose(state: NsdKlState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    for action in range(state.scratch.size):
        state.scratch[action] = math.inf if eligible[action] else -math.inf
        state.scratch_levels[action] = _level(state, action) if eligible[action] else -1.0
    best_candidate(
        state.scratch, state.scratch_levels, state.law.counts, state.law.seen, state.bounds.upper
    )
    return argmax(state.scratch, eligible, rng)


@choose.register(NsdKlLogState)
def _choose_log(state: NsdKlLogState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    base = state.base
    upper = state.scratch_bounds.upper
    _write_upper(state, t)
    for action in range(base.scratch.size):
        base.scratch[action] = math.inf if eligible[action] else -math.inf
        base.scratch_levels[action] = _log_level(base, t, action) if eligible[action] else -1.0
    best_candidate(base.scratch, base.scratch_levels, base.law.counts, base.law.seen, upper)
    return argmax(base.scratch, eligible, rng)


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
    bounds_update(state.bounds, state.theta, signal, state.delta)


@uncredit.register(NsdKlState)
def _uncredit(state: NsdKlState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.theta, signal, reward)
    bounds_update(state.bounds, state.theta, signal, state.delta)


@unobserve.register(NsdKlState)
def _unobserve(state: NsdKlState, t: int, action: int, signal: int) -> None:
    law_unobserve(state.law, t, action, signal)


@forget.register(NsdKlState)
def _forget(state: NsdKlState) -> None:
    law_forget(state.law)
    state.memories[0] += 1
    state.plays[:] = 0


@play.register(NsdKlLogState)
def _play_log(state: NsdKlLogState, t: int, action: int) -> None:
    law_play(state.base.law, t, action)


@observe.register(NsdKlLogState)
def _observe_log(state: NsdKlLogState, t: int, action: int, signal: int) -> None:
    law_observe(state.base.law, t, action, signal)


@unobserve.register(NsdKlLogState)
def _unobserve_log(state: NsdKlLogState, t: int, action: int, signal: int) -> None:
    law_unobserve(state.base.law, t, action, signal)


@credit.register(NsdKlLogState)
def _credit_log(state: NsdKlLogState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.base.theta, signal, reward)


@uncredit.register(NsdKlLogState)
def _uncredit_log(state: NsdKlLogState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.base.theta, signal, reward)


@forget.register(NsdKlLogState)
def _forget_log(state: NsdKlLogState) -> None:
    state.earlier[0] += state.base.law.clock[0]
    law_forget(state.base.law)
