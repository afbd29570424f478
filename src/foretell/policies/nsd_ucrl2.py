"""NSD-UCRL2: Algorithm 1 of [Vernade2020]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.law import (
    NOTHING,
    Law,
    law_forget,
    law_observe,
    law_play,
    law_unobserve,
    law_unplay,
    new_law,
)
from foretell.policies.parts.optimism import optimistic_value, sort_signals
from foretell.policies.parts.ordered_theta import (
    ThetaPrior,
    known_count,
    known_sum,
    new_theta_prior,
    order_upper,
)
from foretell.policies.parts.radius import anytime_horizon, law_constant, theta_constant
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, remove_reward
from foretell.policies.registry import register
from foretell.policies.spec import (
    capped,
    check_delta,
    check_flag,
    check_scale,
    check_window,
    option,
)
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


@register(
    "nsd-ucrl2",
    needs=("window", "horizon"),
    use="the paper's algorithm with its proof, where the pace of change is known",
    cost="O(K S)",
    version=2,
)
@dataclass(frozen=True)
class NsdUcrl2(ThetaSpec):
    """Optimism on a windowed law and an unwindowed, delayed theta: the paper's algorithm.

    `window` is W (None: no window), `delta` the error probability. `scale` multiplies both radii;
    1 is the paper's. `tight` uses the constants that the paper's inequalities need, which are
    smaller than those it prints (errata P1 and P2); Gaussian rewards need the printed one of theta.
    `ordered` and `signal_values` declare what is known about theta, see
    `foretell.policies.theta_spec`.
    """

    window: int | None = None
    """How many rounds the law remembers; None is all of them."""
    delta: float = 0.1
    """Error probability of the confidence bounds."""
    scale: float = option(1.0)
    """Factor of both confidence radii; 1 is the paper's."""
    tight: bool = option(default=False)
    """Whether to use the constants that the proofs need, smaller than the printed ones."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_window(self.window)
        check_delta(self.delta)
        check_scale(self.scale)
        check_flag("tight", self.tight)


class NsdUcrl2State(NamedTuple):
    """The law in the window, theta from every reward, and the constants of their radii."""

    window: float
    delta: float
    scale: float
    tight: bool
    ceiling: float
    """U never exceeds it: 1, or +inf for Gaussian rewards."""
    law_constant: float
    """C_{W,T,delta}; 0 where the horizon is unknown and it moves with t."""
    theta_constant: float
    """C_{T,delta}, likewise."""
    law: Law
    share: Floats
    """(actions,): one over the signals in the window, at least one."""
    root: Floats
    """(actions,): one over the root of the plays in the window, at least one."""
    theta: Rewards
    prior: ThetaPrior
    mean: Floats
    """(signals,): the mean of the rewards known, 0 without one."""
    theta_root: Floats
    """(signals,): one over the root of their number, at least one."""
    scratch: Floats
    scratch_upper: Floats
    scratch_own: Floats
    """(signals,): upper bounds before the declared order lowers them."""
    scratch_lower: Floats
    scratch_order: Ints


@begin.register(NsdUcrl2)
def _begin(spec: NsdUcrl2, problem: Problem) -> NsdUcrl2State:
    actions, signals, horizon = problem.actions, problem.signals, problem.horizon
    window = math.inf if spec.window is None else float(spec.window)
    ceiling = 1.0 if problem.rewards == "bounded" else math.inf
    state = NsdUcrl2State(
        window=window,
        delta=float(spec.delta),
        scale=float(spec.scale),
        tight=bool(spec.tight),
        ceiling=ceiling,
        law_constant=law_constant(spec.tight, actions, signals, window, horizon, spec.delta)
        if horizon
        else 0.0,
        theta_constant=theta_constant(spec.tight and ceiling == 1.0, signals, horizon, spec.delta)
        if horizon
        else 0.0,
        law=new_law(actions, signals, capped(spec.window, horizon)),
        share=np.ones(actions),
        root=np.ones(actions),
        theta=new_rewards(signals),
        prior=new_theta_prior(spec, problem),
        mean=np.zeros(signals),
        theta_root=np.ones(signals),
        scratch=np.zeros(actions),
        scratch_upper=np.zeros(signals),
        scratch_own=np.zeros(signals),
        scratch_lower=np.zeros(signals),
        scratch_order=np.arange(signals),
    )
    for signal in range(signals):
        _update_theta(state, signal)
    return state


@kernel
def _upper_theta(state: NsdUcrl2State, width: float) -> None:
    """Write U_t(s) = min{1, theta_hat(s) + sqrt(C_{T,delta} / N^D_t(s))}, Eq. (3).

    `width` is the root of the constant, scaled. U is at least 1 while there is no reward, which
    the printed constant ensures by itself. It is lowered where the order of signals is declared.
    """
    upper = state.scratch_own if state.prior.ordered else state.scratch_upper
    for signal in range(upper.size):
        radius = width * state.theta_root[signal]
        upper[signal] = min(state.ceiling, state.mean[signal] + radius)
        if state.tight and known_count(state.theta, state.prior, signal) == 0.0:
            upper[signal] = max(upper[signal], min(state.ceiling, 1.0))
        state.scratch_lower[signal] = state.mean[signal] - radius
    if state.prior.ordered:
        order_upper(upper, state.scratch_lower, state.scratch_upper)


@indices.register(NsdUcrl2State)
def _indices(state: NsdUcrl2State, t: int, out: Floats) -> None:
    """Write rho⁺_t(a), Eq. (4): +inf before the first play, max U for one that left the window."""
    law = state.law
    upper = state.scratch_upper
    order = state.scratch_order
    constant = state.law_constant
    of_theta = state.theta_constant
    if constant == 0.0:
        horizon = anytime_horizon(t)
        constant = law_constant(
            state.tight, out.size, upper.size, state.window, horizon, state.delta
        )
        of_theta = theta_constant(
            state.tight and state.ceiling == 1.0, upper.size, horizon, state.delta
        )
    _upper_theta(state, state.scale * math.sqrt(of_theta))
    sort_signals(upper, order)
    width = state.scale * math.sqrt(constant)
    for action in range(out.size):
        if not law.ever[action]:
            out[action] = math.inf
        elif law.seen[action] == 0:
            out[action] = upper[order[0]]
        else:
            radius = width * state.root[action]
            out[action] = optimistic_value(
                law.counts, action, state.share[action], radius, upper, order
            )


@choose.register(NsdUcrl2State)
def _choose(state: NsdUcrl2State, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    indices(state, t, state.scratch)
    return argmax(state.scratch, eligible, rng)


@kernel
def _update_share(state: NsdUcrl2State, action: int) -> None:
    """Keep what the law of an action needs until its signals change again."""
    state.share[action] = 1.0 / max(1, state.law.seen[action])


@kernel
def _update_root(state: NsdUcrl2State, action: int) -> None:
    """Keep what the radius of an action needs until its plays change again."""
    state.root[action] = math.sqrt(1.0 / max(1, state.law.plays[action]))


@kernel
def _update_theta(state: NsdUcrl2State, signal: int) -> None:
    """Keep what the bound of a signal needs until its rewards change again."""
    share = 1.0 / max(1.0, known_count(state.theta, state.prior, signal))
    state.mean[signal] = known_sum(state.theta, state.prior, signal) * share
    state.theta_root[signal] = math.sqrt(share)


@play.register(NsdUcrl2State)
def _play(state: NsdUcrl2State, t: int, action: int) -> None:
    leaving = law_play(state.law, t, action)
    _update_root(state, action)
    if leaving != NOTHING:
        _update_root(state, leaving)
        _update_share(state, leaving)


@unplay.register(NsdUcrl2State)
def _unplay(state: NsdUcrl2State, t: int, action: int) -> None:
    law_unplay(state.law, t, action)
    _update_root(state, action)


@observe.register(NsdUcrl2State)
def _observe(state: NsdUcrl2State, t: int, action: int, signal: int) -> None:
    law_observe(state.law, t, action, signal)
    _update_share(state, action)


@credit.register(NsdUcrl2State)
def _credit(state: NsdUcrl2State, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.theta, signal, reward)
    _update_theta(state, signal)


@uncredit.register(NsdUcrl2State)
def _uncredit(state: NsdUcrl2State, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.theta, signal, reward)
    _update_theta(state, signal)


@unobserve.register(NsdUcrl2State)
def _unobserve(state: NsdUcrl2State, t: int, action: int, signal: int) -> None:
    law_unobserve(state.law, t, action, signal)
    _update_share(state, action)


@forget.register(NsdUcrl2State)
def _forget(state: NsdUcrl2State) -> None:
    law_forget(state.law)
    state.share[:] = 1.0
    state.root[:] = 1.0
