"""The oracles: policies that are told the true change points, and restart there.

An oracle is another policy's state that forgets what is not stationary whenever the law changes;
its rounds are counted from there. Signals of earlier rounds are dropped. Rewards of earlier
rounds are dropped too where the policy learns the value of actions from them, and kept where it
learns theta, which does not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from foretell.policies.censored_spec import CensoredSpec
from foretell.policies.nsd_psrl import NsdPsrl
from foretell.policies.nsd_ucrl2 import NsdUcrl2
from foretell.policies.registry import register
from foretell.policies.spec import check_delta, check_scale, option
from foretell.policies.theta_spec import ThetaSpec, declared_fields
from foretell.policies.ucb import Ucb
from foretell.policies.verbs import (
    begin,
    choose,
    credit,
    elapse,
    forget,
    has,
    indices,
    observe,
    play,
    unwait,
    wait,
)
from foretell.types import Bools, Floats, Ints, Problem


@register(
    "oracle-ucb",
    lab_only=True,
    needs=("change points",),
    use="the paper's yardstick: knowing the changes without the signals",
    cost="O(K)",
)
@dataclass(frozen=True)
class OracleUcb(Ucb):
    """UCB that restarts at every true change point."""


@register(
    "oracle-ucb-nd",
    lab_only=True,
    undelayed=True,
    needs=("change points", "undelayed rewards"),
    use="the paper's yardstick: the same without delay",
    cost="O(K)",
)
@dataclass(frozen=True)
class OracleUcbNd(OracleUcb):
    """UCB that restarts at every true change point and gets rewards without delay."""


@register(
    "oracle-nsd",
    lab_only=True,
    needs=("change points", "horizon"),
    use="the paper's yardstick: what knowing the changes is worth",
    cost="O(K S)",
)
@dataclass(frozen=True)
class OracleNsd(ThetaSpec):
    """NSD-UCRL2 without a window that restarts its law at every true change point.

    Theta is kept; the window in the paper's constant is the horizon.
    """

    delta: float = 0.1
    """Error probability of the confidence bounds."""
    scale: float = option(1.0)
    """Factor of both confidence radii; 1 is the paper's."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_delta(self.delta)
        check_scale(self.scale)


@register(
    "oracle-nsd-nd",
    lab_only=True,
    undelayed=True,
    needs=("change points", "horizon", "undelayed rewards"),
    use="the paper's yardstick: what the delay costs besides",
    cost="O(K S)",
)
@dataclass(frozen=True)
class OracleNsdNd(OracleNsd):
    """NSD-UCRL2 that restarts at every true change point and gets rewards without delay."""


@register(
    "oracle-psrl",
    lab_only=True,
    needs=("change points",),
    use="the sharpest yardstick: what is left to gain once changes are known",
    cost="O(K S)",
)
@dataclass(frozen=True)
class OraclePsrl(CensoredSpec):
    """NSD-PSRL without a window that restarts its law at every true change point.

    Theta is kept, for the meaning of a signal does not change.
    """


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


@begin.register(OracleUcb)
def _begin_ucb(spec: OracleUcb, problem: Problem) -> OracleState:
    return new_oracle(begin(Ucb(scale=spec.scale), problem), problem, keeps_rewards=False)


@begin.register(OracleNsd)
def _begin_nsd(spec: OracleNsd, problem: Problem) -> OracleState:
    inner = begin(NsdUcrl2(delta=spec.delta, scale=spec.scale, **declared_fields(spec)), problem)
    return new_oracle(inner, problem, keeps_rewards=True)


@begin.register(OraclePsrl)
def _begin_psrl(spec: OraclePsrl, problem: Problem) -> OracleState:
    return new_oracle(begin(NsdPsrl(**declared_fields(spec)), problem), problem, keeps_rewards=True)


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


@elapse.register(OracleState)
def _elapse(state: OracleState, now: int) -> None:
    elapse(state.inner, now)


@wait.register(OracleState)
def _wait(
    state: OracleState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    wait(state.inner, made, signal, delay, reward, closed)


@unwait.register(OracleState)
def _unwait(
    state: OracleState, made: int, signal: int, delay: int, reward: float, closed: bool
) -> None:
    unwait(state.inner, made, signal, delay, reward, closed)
