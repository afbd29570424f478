"""The outcome of one decision, kept up to date: one record changes it at a cost that never grows.

It says of the records so far what the pure functions of `outcome` say of them all at once. It is
not saved: from the records of its decision it can be made again at any time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foretell.service.model.arrivals import Arrival
from foretell.service.model.events import (
    OBSERVED,
    VOID,
    Decided,
    DecisionRecords,
    Feedback,
    Record,
    moment,
)
from foretell.service.model.outcome import Closed, Outcome, Rules
from foretell.service.model.reward_total import NO_REWARDS, NoRewards, RewardTotal


class LastRefit(NamedTuple):
    """When a policy last read the whole log."""

    position: int
    """Up to this seq, which is also the moment at which outcomes were taken."""
    rounds: int
    """With the signals of so many decisions."""


class SeenSignals(NamedTuple):
    """The signals of one stage: what counts of them, and what came first."""

    first: int | None = None
    """The first that came in time."""
    counted: int | None = None
    """The one that counts: the strongest in time, else the strongest."""
    arrival: Arrival | None = None
    """When that one first came."""

    def add(self, signal: int, arrival: Arrival) -> SeenSignals:
        """Return them with one more; they come in log order, so those in time come first."""
        if arrival.late and self.timely is not None:
            return self
        if self.counted is not None and signal <= self.counted:
            return self
        first = signal if self.first is None and not arrival.late else self.first
        return SeenSignals(first, signal, arrival)

    @property
    def timely(self) -> int | None:
        """The strongest that came in time."""
        return None if self.arrival is None or self.arrival.late else self.counted


NO_SIGNALS = SeenSignals()
"""Those of every decision of which none has come: they never change, so that all share them."""


class Running:
    """What one decision has come to."""

    __slots__ = (
        "_dues",
        "action",
        "at_refit",
        "decided_at",
        "first_total",
        "mode",
        "number",
        "rank",
        "reward",
        "reward_arrival",
        "rules",
        "signals",
        "timely_total",
        "view",
        "void_at",
        "void_in_time",
        "was_refit",
    )

    def __init__(self, rules: Rules, number: int, rank: int, decided: Decided) -> None:
        """Begin with a decision that nothing is known about."""
        self.rules = rules
        self.number = number
        self.rank = rank
        self.action = decided.action
        self.mode = decided.mode_index
        self.decided_at = moment(number)
        self._dues: tuple[int, ...] | None = None
        self.signals = [NO_SIGNALS] * (len(rules.stages) - 1)
        self.reward: RewardTotal | NoRewards = NO_REWARDS
        self.reward_arrival: Arrival | None = None
        """When its first reward came."""
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
        self.view: Any = None
        """What the campaign last saw of it, once it has; nothing has changed it since then."""

    @classmethod
    def of(cls, rules: Rules, records: DecisionRecords, refit: LastRefit) -> Running:
        """Return the outcome of a decision from all its records."""
        running = cls(rules, records.number, records.rank, records.decided)
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
            seen, arrival = self.signals[event.stage], self._arrival(record, event.stage)
            self.signals[event.stage] = seen.add(int(event.value), arrival)
        else:
            if isinstance(self.reward, NoRewards):
                self.reward = RewardTotal()
            if self.timely_total is None and record.recorded_at >= self.dues[-1]:
                self.timely_total = [self.reward.total]
            self.reward.add(record)
            if self.reward_arrival is None and event.verb_index == OBSERVED:
                self.reward_arrival = self._arrival(record, -1)
            if self.first_total is None and not self.void:
                self.first_total = self.reward.total

    def _arrival(self, record: Record, stage: int) -> Arrival:
        at = record.recorded_at
        return Arrival(at - self.decided_at, at >= self.dues[stage])

    def _void(self, now: int) -> None:
        if self.void_at is None:
            self.void_at = now
            waits = self.rules.stages[0].waits
            self.void_in_time = now < self.dues[0] if waits else self.signals[0].first is None

    @property
    def dues(self) -> tuple[int, ...]:
        """When its windows close: found when that is first asked for, of many decisions never."""
        if self._dues is None:
            self._dues = self.rules.dues(self.decided_at)
        return self._dues

    @property
    def void(self) -> bool:
        """Whether the decision was never shown."""
        return self.void_at is not None

    def is_in_time(self, refit: LastRefit) -> bool:
        """Return whether all that came did so before its window closed, and after the last refit.

        Nothing said that the decision was never shown.
        """
        came = self.signals[0].arrival
        return (
            self.rank >= refit.rounds
            and self.void_at is None
            and self.timely_total is None
            and (came is None or not came.late)
        )

    @property
    def settled_at(self) -> int:
        """When its reward was settled for the first time, if it is."""
        if self.rules.stages[-1].waits:
            return self.dues[-1]
        arrivals = [self.reward_arrival, *(seen.arrival for seen in self.signals)]
        came = [self.decided_at + one.age for one in arrivals if one is not None]
        waits = self.rules.stages[0].waits
        return max([*came, self.dues[0]] if waits else came, default=self.decided_at)

    def outcome_at_refit(self, refit: LastRefit) -> Outcome:
        """Return the outcome at the last refit."""
        if self.was_refit:
            return self.at_refit
        return self.outcome(self.rules.closed_by(self.decided_at, moment(refit.position)))

    def outcome(self, closed: Closed) -> Outcome:
        """Return the outcome, given which windows are closed."""
        stages, last = self.rules.stages, len(self.signals)
        outcome: list[float | None] = [None] * len(stages)
        if self.void_at is not None:
            return tuple(outcome)
        for stage, (_, waits, default) in enumerate(stages):
            if waits and not closed[stage]:
                break
            value = self.signals[stage].counted if stage < last else self.reward.total
            if value is None:
                if not waits:
                    break  # a stage has an outcome only once the stage before it has one
                value = int(default) if stage < last else default
            outcome[stage] = value
        return tuple(outcome)

    def is_late(self, record: Record) -> bool:
        """Return whether feedback came after its window."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is about a decision)
        return event.verb_index != VOID and record.recorded_at >= self.dues[event.stage]
