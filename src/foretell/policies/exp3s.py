"""EXP3.S: exponential weights that share, against an adversary [Auer2002nonstochastic]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.errors import InvalidInput
from foretell.kernel import kernel, uniform
from foretell.policies.parts.forced_exploration import doubled_horizon
from foretell.policies.registry import register
from foretell.policies.spec import Spec, option
from foretell.policies.verbs import begin, choose, credit, drawn, ignore, observe, play, weights
from foretell.types import Bools, Floats, Ints, Problem

MEMORY = 2**16
"""Rounds whose probability is remembered where the horizon is unknown."""


@register(
    "exp3s",
    rewards=("bounded",),
    stream=True,
    needs=("horizon", "changes count"),
    use="rewards that an adversary chooses, in a changing world; a worst-case yardstick",
    cost="O(K)",
    version=2,
)
@dataclass(frozen=True)
class Exp3S(Spec):
    """Exponential weights with sharing on delayed rewards, blind to signals.

    An action has the probability (1 − gamma) w / W + gamma / K. A reward multiplies its weight by
    exp(gamma reward / (K p)), with p the probability with which it was drawn (gamma / K at least,
    which only somebody else's draw can fall below), and every weight receives e / (T K) of their
    sum. `gamma` None is the paper's for `changes` changes:
    sqrt(K ((changes + 1) ln(K T) + e) / ((e − 1) T)). Weights depend on the order of arrival.
    """

    changes: int = 3
    """How many changes are expected over the horizon."""
    gamma: float | None = option(None)
    """Share of uniform play; None is the paper's, from `changes` and the horizon."""

    def __post_init__(self) -> None:
        """Check the fields."""
        check_changes(self.changes)
        if self.gamma is not None and not 0.0 < self.gamma <= 1.0:
            raise InvalidInput(
                f"gamma is the share of uniform play, in (0, 1], got {self.gamma!r}: leave it out "
                f"for the paper's"
            )


def check_changes(changes: int) -> None:
    """Refuse a number of changes that is none."""
    if isinstance(changes, bool) or not isinstance(changes, int) or changes < 0:
        raise InvalidInput(f"changes must be a whole number of at least 0, got {changes!r}")


class Exp3SState(NamedTuple):
    """The weights, and the probabilities with which recent rounds were played."""

    changes: float
    gamma: float
    """0 for the paper's."""
    horizon: int
    """0 where it is unknown."""
    weights: Floats
    """(actions,): they sum to 1."""
    played: Floats
    """(memory,): the probability of the action of round t at index t mod memory."""
    clock: Ints
    """(1,): the rounds played so far."""


@begin.register(Exp3S)
def _begin(spec: Exp3S, problem: Problem) -> Exp3SState:
    return Exp3SState(
        changes=float(spec.changes),
        gamma=0.0 if spec.gamma is None else float(spec.gamma),
        horizon=problem.horizon or 0,
        weights=np.full(problem.actions, 1.0 / problem.actions),
        played=np.zeros(problem.horizon or MEMORY),
        clock=np.zeros(1, np.int64),
    )


@kernel
def usual_mixing(actions: int, changes: float, horizon: float) -> float:
    """Return the gamma of [Auer2002nonstochastic, Sec. 8], at most 1."""
    gain = (changes + 1.0) * math.log(actions * horizon) + math.e
    return min(1.0, math.sqrt(actions * gain / ((math.e - 1.0) * horizon)))


@kernel
def _mixing(state: Exp3SState, t: int) -> float:
    if state.gamma > 0.0:
        return state.gamma
    horizon = doubled_horizon(state.horizon, t)
    return usual_mixing(state.weights.size, state.changes, float(horizon))


@kernel
def _probability(state: Exp3SState, action: int, mixing: float, total: float) -> float:
    share = state.weights[action] / total
    return (1.0 - mixing) * share + mixing / state.weights.size


@kernel
def _total(weights: Floats) -> float:
    total = 0.0
    for action in range(weights.size):
        total += weights[action]
    return total


@choose.register(Exp3SState)
def _choose(state: Exp3SState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    mixing = _mixing(state, t)
    total = _total(state.weights)
    mass = 0.0
    for action in range(eligible.size):
        if eligible[action]:
            mass += _probability(state, action, mixing, total)
    left = uniform(rng) * mass
    chosen = 0
    for action in range(eligible.size):
        if eligible[action]:
            chosen = action
            left -= _probability(state, action, mixing, total)
            if left < 0.0:
                break
    return chosen


@weights.register(Exp3SState)
def _weights(state: Exp3SState, t: int, out: Floats) -> None:
    mixing = _mixing(state, t)
    total = _total(state.weights)
    for action in range(out.size):
        out[action] = _probability(state, action, mixing, total)


@play.register(Exp3SState)
def _play(state: Exp3SState, t: int, action: int) -> None:
    total = _total(state.weights)
    probability = _probability(state, action, _mixing(state, t), total)
    state.played[t % state.played.size] = probability
    state.clock[0] = t + 1


@drawn.register(Exp3SState)
def _drawn(state: Exp3SState, t: int, action: int, propensity: float) -> None:
    state.played[t % state.played.size] = propensity


ignore(Exp3SState, observe)


@credit.register(Exp3SState)
def _credit(state: Exp3SState, t: int, action: int, signal: int, reward: float) -> None:
    memory = state.played.size
    if t < state.clock[0] - memory:
        return
    actions = state.weights.size
    horizon = doubled_horizon(state.horizon, state.clock[0])
    mixing = _mixing(state, state.clock[0])
    gain = reward / max(state.played[t % memory], mixing / actions)
    total = _total(state.weights)
    shared = math.e / horizon / actions * total
    state.weights[action] *= math.exp(mixing * gain / actions)
    for other in range(actions):
        state.weights[other] += shared
    total = _total(state.weights)
    for other in range(actions):
        state.weights[other] /= total
