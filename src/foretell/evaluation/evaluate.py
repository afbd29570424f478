"""What another policy would have earned: the estimates, with all that they rest on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.evaluation.decision_log import DecisionLog, check_evaluable
from foretell.evaluation.replay import Replay, Replayed, Replayer, replay_rounds
from foretell.policies.capabilities import learns_from_signals
from foretell.policies.spec import Spec
from foretell.stats.estimate import Estimate
from foretell.stats.off_policy import Weighted
from foretell.types import Problem


class ValueEstimates(NamedTuple):
    """What a policy would have earned per decision, in unit rewards."""

    inverse_propensity: Estimate
    self_normalised: Estimate
    doubly_robust: Estimate
    gain: Estimate
    """The doubly robust estimate, minus what was earned."""
    effective_decisions: float
    """So many decisions of equal weight would say as much."""


class Evaluation(NamedTuple):
    """What another policy would have earned, and what was."""

    decisions: int
    """All decisions that were replayed."""
    settled: int
    """Those whose reward is settled."""
    counted: int
    """Those of them from which the estimates are made: every action had a chance."""
    earned: Estimate
    """The mean reward of the counted decisions that were not held out."""
    value: ValueEstimates
    without_signal: ValueEstimates | None
    """The same policy, had it known each signal with its reward only; None: it uses none."""


class EvaluationRun:
    """An evaluation under way, a step at a time."""

    def __init__(
        self,
        spec: Spec,
        log: DecisionLog,
        problem: Problem,
        replayer: Callable[[Any], Replayer] = lambda _: replay_rounds,
    ) -> None:
        """Refuse a log that says nothing; nothing is replayed yet."""
        check_evaluable(log)
        self.log = log
        self._replays = [Replay(spec, log, problem, replayer=replayer)]
        if learns_from_signals(spec, problem):
            self._replays.append(Replay(spec, log, problem, withheld=True, replayer=replayer))
        self.steps = len(self._replays) * log.decisions

    def step(self, decisions: int) -> int:
        """Replay the next decisions, and return how many they were: 0 at the end."""
        return next((done for replay in self._replays if (done := replay.step(decisions))), 0)

    def result(self) -> Evaluation:
        """Return the estimates, once every decision was replayed."""
        log = self.log
        earned = np.flatnonzero(log.counted & ~log.held_out)
        own = Weighted(np.ones(earned.size), log.reward[earned], log.first[earned])
        values = [_value(log, replay.replayed) for replay in self._replays]
        return Evaluation(
            log.decisions,
            int(log.settled.sum()),
            int(log.counted.sum()),
            own.inverse_propensity(),
            values[0],
            values[1] if len(values) > 1 else None,
        )


def _value(log: DecisionLog, replayed: Replayed) -> ValueEstimates:
    counted = np.flatnonzero(log.counted)
    first = log.first[counted]
    weights = replayed.probability[first] / log.propensity[first]
    model = replayed.expected[first], replayed.value[first]
    weighted = Weighted(weights, log.reward[counted], first)
    return ValueEstimates(
        weighted.inverse_propensity(),
        weighted.self_normalised(),
        weighted.doubly_robust(*model),
        weighted.gain(*model, live=(~log.held_out[counted]).astype(np.float64)),
        weighted.effective(),
    )
