"""The outcome of one decision: a pure function of its records in the log, in any order.

A decision passes stages: an early signal, and at the end the reward. Each has a window, which
closes by log time. Silence is not an outcome until its window closes: what arrives early (clicks,
conversions) is held until then, because what does not happen never arrives, and counting arrivals
alone would overstate them. Where silence is "unknown", every outcome is reported, and enters on
arrival. A decision that was voided, because it was never shown, has no outcome.

These functions say what is right, from all records at once. `running.Running` says the same from
one record after the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from foretell.service.model.events import (
    ADJUST,
    OBSERVED,
    VOID,
    CampaignConfig,
    DecisionRecords,
    Feedback,
    KeptWindows,
    Record,
)

WINDOW_GRID = 10_000
"""Windows close on whole multiples of so many microseconds, many at a time."""
Outcome: TypeAlias = tuple[float | None, ...]
"""What counts at each stage: signals as their index, then the reward; None while it is open.

A stage has an outcome only once the stage before it has one.
"""
Closed: TypeAlias = tuple[bool, ...]
"""For each stage, whether its window is closed."""


class Window(NamedTuple):
    """How long a window is, in microseconds; old decisions may have a shorter one."""

    length: int
    kept: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, seconds: float, kept: KeptWindows) -> Window:
        """Return a window of so many seconds."""
        return cls(round(seconds * 1e6), tuple((upto, round(one * 1e6)) for upto, one in kept))

    def closes(self, decided_at: int) -> int:
        """Return the moment at which the window of a decision closes."""
        length = self.length
        for upto, shorter in self.kept:
            if decided_at <= upto:
                length = min(length, shorter)
        return -(-(decided_at + length) // WINDOW_GRID) * WINDOW_GRID


class StageRule(NamedTuple):
    """When silence becomes an outcome at a stage, and which."""

    window: Window
    waits: bool
    """Whether silence is an outcome: then nothing counts before the window closes."""
    default: float


class Rules(NamedTuple):
    """The rules of every stage."""

    stages: tuple[StageRule, ...]

    @classmethod
    def of(cls, config: CampaignConfig) -> Rules:
        """Return the rules of a campaign."""
        return cls(
            tuple(
                StageRule(
                    Window.of(stage.window, stage.kept_windows),
                    stage.silence != "unknown",
                    stage.default,
                )
                for stage in config.stages
            )
        )

    def due(self, stage: int, decided_at: int) -> int:
        """Return the moment at which a window of a decision closes."""
        return self.stages[stage].window.closes(decided_at)

    def dues(self, decided_at: int) -> tuple[int, ...]:
        """Return the moments at which the windows of a decision close."""
        return tuple([rule.window.closes(decided_at) for rule in self.stages])

    def closed_by(self, decided_at: int, now: int) -> Closed:
        """Return which windows of a decision are closed at a moment."""
        return tuple(due <= now for due in self.dues(decided_at))


def outcome_of(rules: Rules, records: DecisionRecords, closed: Closed) -> Outcome:
    """Return the outcome of a decision: the strongest signals, and the sum of its rewards."""
    if any(is_void(record) for record in records.feedback):
        return (None,) * len(rules.stages)
    outcome: list[float | None] = []
    for stage, rule in enumerate(rules.stages):
        open_before = bool(outcome) and outcome[-1] is None
        if open_before or (rule.waits and not closed[stage]):
            outcome.append(None)
        elif stage < len(rules.stages) - 1:
            outcome.append(_signal(rules, records, stage))
        else:
            outcome.append(_reward(rule, rewards(records.feedback, stage)))
    return tuple(outcome)


def _signal(rules: Rules, records: DecisionRecords, stage: int) -> float | None:
    """Return the strongest signal that came within the window, else the strongest of all."""
    due = rules.due(stage, records.decided_at)
    seen = signals(records.feedback, stage)
    counted = [value for at, value in seen if at < due] or [value for _, value in seen]
    if counted:
        return max(counted)
    rule = rules.stages[stage]
    return int(rule.default) if rule.waits else None


def _reward(rule: StageRule, rewarded: Sequence[Record]) -> float | None:
    total = total_reward(rewarded)
    return rule.default if total is None and rule.waits else total


def is_void(record: Record) -> bool:
    """Return whether a record says that its decision was never shown."""
    return isinstance(record.event, Feedback) and record.event.verb_index == VOID


def signals(records: Iterable[Record], stage: int) -> list[tuple[int, int]]:
    """Return the signals of a stage among records, each with the moment at which it came."""
    return [
        (record.recorded_at, int(record.event.value))
        for record in records
        if isinstance(record.event, Feedback)
        and record.event.stage == stage
        and record.event.verb_index == OBSERVED
    ]


def rewards(records: Iterable[Record], stage: int) -> list[Record]:
    """Return the rewards and corrections among records: all feedback about the last stage."""
    return [
        record
        for record in records
        if isinstance(record.event, Feedback)
        and record.event.stage == stage
        and record.event.verb_index != VOID
    ]


def total_reward(records: Sequence[Record]) -> float | None:
    """Add up rewards after their corrections; None where no reward is left.

    Of several corrections of one reward the last by (occurred, event_id) wins.
    """
    events = [(record, record.event) for record in records if isinstance(record.event, Feedback)]
    values = {event.event_id: event.value for _, event in events if event.verb_index == OBSERVED}
    corrections = [(correction_order(record), event) for record, event in events if event.target]
    for _, event in sorted(corrections, key=lambda one: one[0]):
        if event.target in values:
            values[event.target] = event.value if event.verb_index == ADJUST else math.nan
    left = [value for value in values.values() if not math.isnan(value)]
    return math.fsum(left) if left else None


def correction_order(record: Record) -> tuple[int, str]:
    """Return what orders the corrections of one reward: when each happened, and its id."""
    event = record.event
    assert isinstance(event, Feedback)  # noqa: S101  (only feedback corrects)
    return record.recorded_at if event.occurred is None else event.occurred, event.event_id


def reward_ids(rewarded: Iterable[Record]) -> set[str]:
    """Return the ids of rewards, which corrections may name."""
    return {
        record.event.event_id
        for record in rewarded
        if isinstance(record.event, Feedback) and record.event.verb_index == OBSERVED
    }


def lacks_target(event: Feedback, rewarded: set[str]) -> bool:
    """Return whether an event corrects a reward that is not among those with these ids."""
    return event.target is not None and event.target not in rewarded
