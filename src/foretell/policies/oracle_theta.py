"""Oracle-Theta: posterior sampling that is told when the meaning of signals changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from foretell.kernel import kernel
from foretell.policies.nsd_psrl_cp import NsdPsrlCp, NsdPsrlCpState
from foretell.policies.parts.theta import forget_rewards
from foretell.policies.registry import register
from foretell.policies.spec import check_flag, option
from foretell.policies.theta_spec import ThetaSpec, declared_fields
from foretell.policies.verbs import begin, choose, credit, observe, play
from foretell.types import Bools, Ints, Problem


@register(
    "oracle-theta",
    lab_only=True,
    stream=True,
    needs=("changes of theta",),
    use="a yardstick: what is left to gain once changes of theta are known",
    cost="O(K S)",
)
@dataclass(frozen=True)
class OracleTheta(ThetaSpec):
    """NSD-PSRL-CP that restarts theta at every true change of theta.

    The rewards of earlier rounds are dropped at once, or with `keep` when the first reward of the
    same signal from after the change arrives: until then nothing better is known.
    """

    keep: bool = option(default=True)
    """Whether old rewards of a signal count until the first new one arrives."""

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_flag("keep", self.keep)


class OracleThetaState(NamedTuple):
    """The state of `nsd-psrl-cp`, the changes of theta, and since which one each signal counts."""

    keep: bool
    inner: NsdPsrlCpState
    changes: Ints
    since: Ints
    """(signals,): changes before the rewards that are counted."""


@begin.register(OracleTheta)
def _begin(spec: OracleTheta, problem: Problem) -> OracleThetaState:
    changes = np.array(problem.theta_changes, np.int64)
    inner = begin(NsdPsrlCp(**declared_fields(spec)), problem)
    return OracleThetaState(bool(spec.keep), inner, changes, np.zeros(problem.signals, np.int64))


@kernel
def _changes_until(state: OracleThetaState, t: int) -> int:
    """Return how many changes of theta there are up to round t."""
    count = 0
    while count < state.changes.size and state.changes[count] <= t:
        count += 1
    return count


@choose.register(OracleThetaState)
def _choose(state: OracleThetaState, t: int, eligible: Bools, rng: np.random.Generator) -> int:
    return choose(state.inner, t, eligible, rng)


@play.register(OracleThetaState)
def _play(state: OracleThetaState, t: int, action: int) -> None:
    count = _changes_until(state, t + 1)
    if not state.keep and count > state.since[0]:
        forget_rewards(state.inner.theta)
        state.since[:] = count


@observe.register(OracleThetaState)
def _observe(state: OracleThetaState, t: int, action: int, signal: int) -> None:
    observe(state.inner, t, action, signal)


@credit.register(OracleThetaState)
def _credit(state: OracleThetaState, t: int, action: int, signal: int, reward: float) -> None:
    count = _changes_until(state, t)
    if count > state.since[signal]:
        state.since[signal] = count
        state.inner.theta.counts[signal] = 0
        state.inner.theta.grains[signal] = 0
    if count == state.since[signal]:
        credit(state.inner, t, action, signal, reward)
