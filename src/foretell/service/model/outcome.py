"""The outcome of one decision: a pure function of its records in the log, in any order.

A decision has two windows, which close by server time. Silence is not an outcome until its
window closes: what arrives early (clicks, conversions) is held until then, because what does
not happen never arrives, and counting arrivals alone would overstate them. Where silence is
"unknown", every outcome is reported, and enters on arrival.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from foretell.service.model.events import (
    CampaignConfig,
    Decided,
    Feedback,
    KeptWindows,
    Rewarded,
    Signalled,
)

WINDOW_GRID = 10_000
"""Windows close on whole multiples of so many microseconds, many at a time."""


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


class Rules(NamedTuple):
    """When silence becomes an outcome."""

    signal_window: Window
    reward_window: Window
    signal_default: bool
    reward_default: bool
    default_reward: float

    @classmethod
    def of(cls, config: CampaignConfig) -> Rules:
        """Return the rules of a campaign."""
        return cls(
            signal_window=Window.of(config.signal_window, config.kept_signal_windows),
            reward_window=Window.of(config.reward_window, config.kept_reward_windows),
            signal_default=config.signal_silence == "default",
            reward_default=config.reward_silence == "default",
            default_reward=config.default_reward,
        )

    def signal_due(self, decided_at: int) -> int:
        """Return the moment at which the signal window of a decision closes."""
        return self.signal_window.closes(decided_at)

    def reward_due(self, decided_at: int) -> int:
        """Return the moment at which the reward window of a decision closes."""
        return self.reward_window.closes(decided_at)


class FeedbackRecord(NamedTuple):
    """A record of the log about a decision."""

    seq: int
    event: Feedback


class DecisionRecords(NamedTuple):
    """All records of one decision, in log order."""

    decided: Decided
    feedback: list[FeedbackRecord]

    def until(self, seq: int) -> DecisionRecords:
        """Return the records up to one."""
        return DecisionRecords(
            self.decided, [record for record in self.feedback if record.seq <= seq]
        )


class Outcome(NamedTuple):
    """The signal and the natural reward that count; None while they are not settled.

    A reward counts only once its signal does.
    """

    signal: int | None
    reward: float | None


NO_OUTCOME = Outcome(None, None)


def outcome_of(
    rules: Rules, records: DecisionRecords, now: int, reward_now: int | None = None
) -> Outcome:
    """Return the outcome of a decision: the strongest signal, and the sum of its rewards.

    `reward_now` is another time for the reward window: of two windows that close at the same
    moment, that of the signal is the first.
    """
    signal = _signal(rules, records, now)
    if signal is None:
        return NO_OUTCOME
    return Outcome(
        signal, settled_reward(rules, records, now if reward_now is None else reward_now)
    )


def _signal(rules: Rules, records: DecisionRecords, now: int) -> int | None:
    due = rules.signal_due(records.decided.decided_at)
    if rules.signal_default and now < due:
        return None
    seen = [event for _, event in records.feedback if isinstance(event, Signalled)]
    timely = [event.signal for event in seen if event.recorded_at < due]
    counted = timely or [event.signal for event in seen]
    if counted:
        return max(counted)
    return 0 if rules.signal_default else None


def settled_reward(rules: Rules, records: DecisionRecords, now: int) -> float | None:
    """Return the natural reward of a decision, whatever its signal; None while it is open."""
    if rules.reward_default and now < rules.reward_due(records.decided.decided_at):
        return None
    total = total_reward(rewards(records.feedback))
    return rules.default_reward if total is None and rules.reward_default else total


def rewards(records: Iterable[FeedbackRecord]) -> list[Rewarded]:
    """Return the rewards and corrections among records."""
    return [event for _, event in records if isinstance(event, Rewarded)]


def total_reward(events: Sequence[Rewarded]) -> float | None:
    """Add up rewards after their corrections; None where no reward is left.

    Of several corrections of one reward the last by (occurred_at, event_id) wins.
    """
    values = {event.event_id: event.value for event in events if event.kind == "reward"}
    if not values:
        return None
    corrections = [event for event in events if event.target in values]
    for event in sorted(corrections, key=_order):
        values[event.target or ""] = event.value if event.kind == "adjust" else math.nan
    left = [value for value in values.values() if not math.isnan(value)]
    return math.fsum(left) if left else None


def lacks_target(event: Rewarded, events: Sequence[Rewarded]) -> bool:
    """Return whether an event corrects a reward that is not among the others."""
    return event.kind != "reward" and all(
        one.kind != "reward" or one.event_id != event.target for one in events
    )


def unmatched(events: Sequence[Rewarded]) -> int:
    """Count the corrections whose reward has not come."""
    return sum(lacks_target(event, events) for event in events)


def _order(event: Rewarded) -> tuple[int, str]:
    return event.recorded_at if event.occurred is None else event.occurred, event.event_id


def first_signal(rules: Rules, records: DecisionRecords) -> int | None:
    """Return the first signal that came within the window."""
    due = rules.signal_due(records.decided.decided_at)
    for _, event in records.feedback:
        if isinstance(event, Signalled) and event.recorded_at < due:
            return event.signal
    return None


def first_reward(rules: Rules, records: DecisionRecords) -> float | None:
    """Return the reward of a decision when it first had one."""
    due = rules.reward_due(records.decided.decided_at)
    if rules.reward_default:
        timely = [event for event in rewards(records.feedback) if event.recorded_at < due]
        total = total_reward(timely)
        return rules.default_reward if total is None else total
    seen: list[Rewarded] = []
    for event in rewards(records.feedback):
        seen.append(event)
        total = total_reward(seen)
        if total is not None:
            return total
    return None


def timely(rules: Rules, records: DecisionRecords) -> DecisionRecords:
    """Return the records that had come when the signal window closed."""
    due = rules.signal_due(records.decided.decided_at)
    return DecisionRecords(
        records.decided, [record for record in records.feedback if record.event.recorded_at < due]
    )
