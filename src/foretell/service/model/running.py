"""The outcome of one decision, kept up to date: one record changes it at a cost that never grows.

It says of the records so far what the pure functions of `outcome` say of them all at once. It is
not saved: from the records of its decision it can be made again at any time.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import NamedTuple

from foretell.service.model.events import (
    ADJUST,
    OBSERVED,
    VOID,
    DecisionRecords,
    Feedback,
    Record,
    moment,
)
from foretell.service.model.outcome import Closed, Outcome, Rules, correction_order

MAX_DECISIONS = 2048
"""Decisions that a campaign has at hand."""
_UNIT = 1 << 1074
"""The smallest positive number is one part in so many: in such parts every number is whole."""


class LastRefit(NamedTuple):
    """When a policy last read the whole log."""

    position: int
    """Up to this seq, which is also the moment at which outcomes were taken."""
    rounds: int
    """With the signals of so many decisions."""


class SeenSignals:
    """The signals of one stage: the first and the strongest in time, and the strongest of all."""

    __slots__ = ("first", "strongest", "timely")

    def __init__(self) -> None:
        """Begin without signals."""
        self.first: int | None = None
        self.timely: int | None = None
        self.strongest: int | None = None

    def add(self, signal: int, *, timely: bool) -> None:
        """Count a signal."""
        if timely:
            self.first = signal if self.first is None else self.first
            self.timely = signal if self.timely is None else max(self.timely, signal)
        self.strongest = signal if self.strongest is None else max(self.strongest, signal)

    @property
    def counted(self) -> int | None:
        """The signal that counts."""
        return self.strongest if self.timely is None else self.timely


class RewardTotal:
    """The sum of rewards after their corrections, exact in any order."""

    __slots__ = ("_corrections", "_left", "_sum", "_values", "_waiting", "unmatched")

    def __init__(self) -> None:
        """Begin without rewards."""
        self._values: dict[str, float] = {}
        self._corrections: dict[str, tuple[tuple[int, str], float]] = {}
        self._waiting: dict[str, int] = {}
        self._sum = 0
        self._left = 0
        self.unmatched = 0
        """Corrections whose reward has not come."""

    def add(self, record: Record) -> None:
        """Count a reward or a correction."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is a reward)
        if event.verb_index == OBSERVED:
            self._values[event.event_id] = event.value
            corrected = self._corrections.get(event.event_id)
            self._count(event.value if corrected is None else corrected[1], 1)
            self.unmatched -= self._waiting.pop(event.event_id, 0)
        elif event.target is not None:
            self._correct(event.target, record, event)

    def _correct(self, target: str, record: Record, event: Feedback) -> None:
        known = self._corrections.get(target)
        order = correction_order(record)
        here = target in self._values
        if known is None or order > known[0]:
            value = event.value if event.verb_index == ADJUST else math.nan
            if here:
                self._count(self._values[target] if known is None else known[1], -1)
                self._count(value, 1)
            self._corrections[target] = order, value
        if not here:
            self._waiting[target] = self._waiting.get(target, 0) + 1
            self.unmatched += 1

    def has(self, event_id: str) -> bool:
        """Return whether a reward with this id has come."""
        return event_id in self._values

    def total_with(self, record: Record) -> float | None:
        """Return what the sum is with a record, which it may count already."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is a reward)
        if event.verb_index == OBSERVED:
            known = self._corrections.get(event.event_id)
            if event.event_id in self._values:
                return self.total
            return self._changed(math.nan, event.value if known is None else known[1])
        known = self._corrections.get(event.target or "")
        if event.target not in self._values or (known and correction_order(record) <= known[0]):
            return self.total
        before = self._values[event.target] if known is None else known[1]
        return self._changed(before, event.value if event.verb_index == ADJUST else math.nan)

    def _changed(self, before: float, after: float) -> float | None:
        """Return what the sum is with one value in place of another; NaN: there is none."""
        left = self._left - (not math.isnan(before)) + (not math.isnan(after))
        parts = (self.total or 0.0, -before, after)
        return math.fsum(part for part in parts if not math.isnan(part)) if left else None

    def _count(self, value: float, sign: int) -> None:
        if not math.isnan(value):
            over, under = value.as_integer_ratio()
            self._sum += sign * over * (_UNIT // under)
            self._left += sign

    @property
    def total(self) -> float | None:
        """The sum; None where no reward is left."""
        return self._sum / _UNIT if self._left else None


NO_SIGNALS, NO_REWARDS = SeenSignals(), RewardTotal()
"""Those of every decision of which nothing has come: many decisions share them."""


class Running:
    """What one decision has come to."""

    __slots__ = (
        "action",
        "at_refit",
        "decided_at",
        "dues",
        "first_total",
        "number",
        "rank",
        "reward",
        "rules",
        "signals",
        "timely_total",
        "void_at",
        "void_in_time",
        "was_refit",
    )

    def __init__(self, rules: Rules, number: int, rank: int, action: int) -> None:
        """Begin with a decision that nothing is known about."""
        self.rules = rules
        self.number = number
        self.rank = rank
        self.action = action
        self.decided_at = moment(number)
        self.dues = rules.dues(self.decided_at)
        self.signals = [NO_SIGNALS] * (len(rules.stages) - 1)
        self.reward = NO_REWARDS
        self.first_total: float | None = None
        """The reward when there first was one, since the refit that read it if one did."""
        self.timely_total: list[float | None] | None = None
        """The reward when its window closed, once something has come after that."""
        self.void_at: int | None = None
        """When it was first said that the decision was never shown."""
        self.void_in_time = False
        """Whether that was before a signal was to be delivered."""
        self.was_refit = False
        self.at_refit: Outcome = ()
        """The outcome at the last refit, once something has come after it."""

    @classmethod
    def of(cls, rules: Rules, records: DecisionRecords, refit: LastRefit) -> Running:
        """Return the outcome of a decision from all its records."""
        running = cls(rules, records.number, records.rank, records.decided.action)
        for record in records.feedback:
            running.add(record, refit)
        return running

    def add(self, record: Record, refit: LastRefit) -> None:
        """Take in one record of feedback; records come in log order."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is about a decision)
        if self.rank < refit.rounds and not self.was_refit and record.seq >= refit.position:
            self.at_refit, self.was_refit = self.outcome_at_refit(refit), True
            self.first_total = None
        if event.verb_index == VOID:
            self._void(record.recorded_at)
        elif event.stage < len(self.signals):
            if self.signals[event.stage] is NO_SIGNALS:
                self.signals[event.stage] = SeenSignals()
            timely = record.recorded_at < self.dues[event.stage]
            self.signals[event.stage].add(int(event.value), timely=timely)
        else:
            if self.reward is NO_REWARDS:
                self.reward = RewardTotal()
            if self.timely_total is None and record.recorded_at >= self.dues[-1]:
                self.timely_total = [self.reward.total]
            self.reward.add(record)
            if self.first_total is None and not self.void:
                self.first_total = self.reward.total

    def _void(self, now: int) -> None:
        if self.void_at is None:
            self.void_at = now
            waits = self.rules.stages[0].waits
            self.void_in_time = now < self.dues[0] if waits else self.signals[0].first is None

    @property
    def void(self) -> bool:
        """Whether the decision was never shown."""
        return self.void_at is not None

    def outcome_at_refit(self, refit: LastRefit) -> Outcome:
        """Return the outcome at the last refit."""
        if self.was_refit:
            return self.at_refit
        return self.outcome(self.rules.closed_by(self.decided_at, moment(refit.position)))

    def outcome(self, closed: Closed) -> Outcome:
        """Return the outcome, given which windows are closed."""
        stages = self.rules.stages
        if self.void:
            return (None,) * len(stages)
        outcome: list[float | None] = []
        for stage, rule in enumerate(stages):
            value: float | None
            if (outcome and outcome[-1] is None) or (rule.waits and not closed[stage]):
                value = None
            elif stage < len(self.signals):
                value = self.signals[stage].counted
                if value is None and rule.waits:
                    value = int(rule.default)
            else:
                value = self.reward.total
                if value is None and rule.waits:
                    value = rule.default
            outcome.append(value)
        return tuple(outcome)

    def is_late(self, record: Record) -> bool:
        """Return whether feedback came after its window."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is about a decision)
        return event.verb_index != VOID and record.recorded_at >= self.dues[event.stage]


class DecisionCache:
    """The outcomes that a campaign has at hand: a bounded number, the longest unused go first."""

    def __init__(self) -> None:
        """Begin empty."""
        self._by_number: OrderedDict[int, Running] = OrderedDict()
        self._by_rank: dict[int, Running] = {}

    def add(self, running: Running) -> Running:
        """Keep an outcome, unless the decision is at hand already; return the one that is kept."""
        known = self.find(running.number)
        if known is not None:
            return known
        self._by_number[running.number] = self._by_rank[running.rank] = running
        if len(self._by_number) > MAX_DECISIONS:
            _, oldest = self._by_number.popitem(last=False)
            del self._by_rank[oldest.rank]
        return running

    def find(self, number: int) -> Running | None:
        """Return the outcome of a decision."""
        running = self._by_number.get(number)
        if running is not None:
            self._by_number.move_to_end(number)
        return running

    def at_rank(self, rank: int) -> Running | None:
        """Return the outcome of the decision of a round."""
        return self._by_rank.get(rank)
