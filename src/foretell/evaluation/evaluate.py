"""What another policy would have earned: the estimates, with all that they rest on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from foretell.evaluation.decision_log import DecisionLog, check_evaluable
from foretell.evaluation.replay import Replay, Replayed, Replayer, replay_rounds
from foretell.policies.capabilities import learns_from_signals
from foretell.policies.spec import Spec
from foretell.stats.estimate import Estimate, difference
from foretell.stats.off_policy import Weighted
from foretell.types import Bools, Problem


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
    """The mean reward of the decisions that `_earning` marks."""
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
        values = [_value(log, replay.replayed) for replay in self._replays]
        return Evaluation(
            log.decisions,
            int(log.settled.sum()),
            int(log.counted.sum()),
            _earned(log),
            values[0],
            values[1] if len(values) > 1 else None,
        )


def _earning(log: DecisionLog) -> Bools:
    """Return which decisions say what was earned.

    The counted ones that were not held out. Where only the holdout is counted, because the policy
    did not explore, all that were not held out: they are of the same time. Where everything was
    held out, all that is counted.
    """
    live = log.settled & ~log.held_out
    return next((some for some in (live & log.possible, live) if some.any()), log.counted)


def _earned(log: DecisionLog) -> Estimate:
    earning = np.flatnonzero(_earning(log))
    own = Weighted(np.ones(earning.size), log.reward[earning], log.first[earning])
    return own.inverse_propensity()


def _value(log: DecisionLog, replayed: Replayed) -> ValueEstimates:
    counted = np.flatnonzero(log.counted)
    first = log.first[counted]
    weights = replayed.probability[first] / log.propensity[first]
    model = replayed.expected[first], replayed.value[first]
    weighted = Weighted(weights, log.reward[counted], first)
    doubly_robust, live = weighted.doubly_robust(*model), _earning(log)[counted]
    return ValueEstimates(
        weighted.inverse_propensity(),
        weighted.self_normalised(),
        doubly_robust,
        weighted.gain(*model, live=live.astype(np.float64))
        if live.any()
        else difference(doubly_robust, _earned(log)),
        weighted.effective(),
    )
