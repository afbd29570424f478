"""Restarts at the true change points: what turns a policy into an oracle.

An oracle is another policy's state that forgets what is not stationary whenever the law changes;
its rounds are counted from there. Signals of earlier rounds are dropped. Rewards of earlier
rounds are dropped too where the policy learns the value of actions from them, and kept where it
learns theta, which does not change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from foretell.policies.verbs import choose, credit, forget, has, indices, observe, play
from foretell.types import Bools, Floats, Ints, Problem


class OracleState(NamedTuple):
    """A policy's state, the change points, and where we are between them."""

    inner: Any
    keeps_rewards: bool
    changes: Ints
    clock: Ints
    """(2,): the first round of this segment, and how many changes are past."""


class OracleIndexState(OracleState):
    """The same around a policy that ranks actions by an index."""

    __slots__ = ()


def new_oracle(inner: Any, problem: Problem, *, keeps_rewards: bool) -> OracleState:
    """Wrap `inner` so that it restarts at the change points of the problem."""
    kind = OracleIndexState if has(indices, inner) else OracleState
    return kind(inner, keeps_rewards, np.array(problem.changes, np.int64), np.zeros(2, np.int64))


@indices.register(OracleIndexState)
def _indices(state: OracleIndexState, t: int, out: Floats) -> None:
    indices(state.inner, t - state.clock[0], out)


@choose.register(OracleState)
def _choose(state: OracleState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    return choose(state.inner, t - state.clock[0], eligible, rng)


@play.register(OracleState)
def _play(state: OracleState, t: int, action: int) -> None:
    play(state.inner, t - state.clock[0], action)
    past = state.clock[1]
    if past < state.changes.size and state.changes[past] == t + 1:
        forget(state.inner)
        state.clock[0] = t + 1
        state.clock[1] = past + 1


@observe.register(OracleState)
def _observe(state: OracleState, t: int, action: int, signal: int) -> None:
    if t >= state.clock[0]:
        observe(state.inner, t - state.clock[0], action, signal)


@credit.register(OracleState)
def _credit(state: OracleState, t: int, action: int, signal: int, reward: float) -> None:
    if state.keeps_rewards or t >= state.clock[0]:
        credit(state.inner, t - state.clock[0], action, signal, reward)
