"""Bayes-UCB: a quantile of each action's posterior is its index [Kaufmann2012]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.kl_ucb import check_loglog
from foretell.policies.parts.argmax import argmax
from foretell.policies.parts.beta_quantile import beta_tail, beta_upper, log_beta
from foretell.policies.parts.forced_exploration import doubled_horizon
from foretell.policies.parts.kl_argmax import MARGIN, is_below
from foretell.policies.parts.theta import (
    Rewards,
    add_reward,
    forget_rewards,
    new_rewards,
    remove_reward,
    reward_sum,
)
from foretell.policies.registry import register
from foretell.policies.spec import Spec, option
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    forget,
    ignore,
    indices,
    observe,
    play,
    uncredit,
    unobserve,
)
from foretell.types import Bools, Floats, Problem


@register(
    "bayes-ucb",
    rewards=("bounded",),
    use="a law that never changes, signals that say nothing about rewards",
    cost="O(K)",
)
@dataclass(frozen=True)
class BayesUcb(Spec):
    """The upper quantile of each action's posterior on delayed rewards, blind to signals.

    The index of an action is the quantile of order 1 − 1 / (t (ln T)^c) of
    Beta(1 + rewards, 1 + misses), t counted from 1. The proof has c = 5, the authors' advice and
    default is c = 0, which needs no horizon T.
    """

    c: float = option(0.0)
    """Power of ln T in the order of the quantile; the proof has 5, and 0 needs no horizon."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_loglog(self.c)


class BayesUcbState(NamedTuple):
    """Rewards received, by action."""

    c: float
    horizon: int
    """0 where it is unknown."""
    rewards: Rewards
    scratch: Floats


@begin.register(BayesUcb)
def _begin(spec: BayesUcb, problem: Problem) -> BayesUcbState:
    actions = problem.actions
    horizon = problem.horizon or 0
    return BayesUcbState(float(spec.c), horizon, new_rewards(actions), np.zeros(actions))


@kernel
def _tail(state: BayesUcbState, t: int) -> float:
    """Return 1 / (t (ln T)^c)."""
    if state.c == 0.0:
        return 1.0 / (t + 1.0)
    logarithm = math.log(float(doubled_horizon(state.horizon, t)))
    return 1.0 / ((t + 1.0) * max(1.0, math.pow(logarithm, state.c)))


@kernel
def _hits(state: BayesUcbState, action: int) -> float:
    return 1.0 + reward_sum(state.rewards, action)


@kernel
def _misses(state: BayesUcbState, action: int) -> float:
    return 1.0 + state.rewards.counts[action] - reward_sum(state.rewards, action)


@kernel
def _is_below(hits: float, misses: float, tail: float, target: float) -> bool:
    """Return whether the quantile is certainly below the target.

    P(X > x) <= exp(−(a + b) kl(a / (a + b), x)) for X ~ Beta(a, b), by Chernoff's method on the two
    Gamma variables that X is made of: that settles most, the tail at the target the others.
    """
    total = hits + misses
    if is_below(hits / total, -math.log(tail) / total, target):
        return True
    if target <= hits / total:
        return False
    return beta_tail(hits, misses, log_beta(hits, misses), target) < tail


@indices.register(BayesUcbState)
def _indices(state: BayesUcbState, t: int, out: Floats) -> None:
    """Write the quantiles; neighbours with the same posterior, as without rewards, share one."""
    tail = _tail(state, t)
    hits = 0.0
    misses = 0.0
    bound = 0.0
    for action in range(out.size):
        if _hits(state, action) != hits or _misses(state, action) != misses:
            hits = _hits(state, action)
            misses = _misses(state, action)
            bound = beta_upper(hits, misses, tail)
        out[action] = bound


@kernel
def _largest_mean(state: BayesUcbState, eligible: Bools) -> int:
    largest = -1.0
    found = 0
    for action in range(eligible.size):
        if eligible[action]:
            hits = _hits(state, action)
            mean = hits / (hits + _misses(state, action))
            if mean > largest:
                largest = mean
                found = action
    return found


@choose.register(BayesUcbState)
def _choose(state: BayesUcbState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    """Choose the largest index; those that are certainly smaller are not solved for."""
    tail = _tail(state, t)
    first = _largest_mean(state, eligible)
    first_hits = _hits(state, first)
    first_misses = _misses(state, first)
    first_bound = beta_upper(first_hits, first_misses, tail)
    best = first_bound
    for action in range(eligible.size):
        if not eligible[action]:
            continue
        hits = _hits(state, action)
        misses = _misses(state, action)
        if hits == first_hits and misses == first_misses:
            state.scratch[action] = first_bound
        elif _is_below(hits, misses, tail, best - MARGIN):
            state.scratch[action] = -math.inf
        else:
            state.scratch[action] = beta_upper(hits, misses, tail)
            best = max(best, state.scratch[action])
    return argmax(state.scratch, eligible, rng)


ignore(BayesUcbState, play, observe, unobserve)


@credit.register(BayesUcbState)
def _credit(state: BayesUcbState, t: int, action: int, signal: int, reward: float) -> None:
    add_reward(state.rewards, action, reward)


@uncredit.register(BayesUcbState)
def _uncredit(state: BayesUcbState, t: int, action: int, signal: int, reward: float) -> None:
    remove_reward(state.rewards, action, reward)


@forget.register(BayesUcbState)
def _forget(state: BayesUcbState) -> None:
    forget_rewards(state.rewards)
