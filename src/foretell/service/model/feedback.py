"""From a report of a signal or a reward to an event of the log."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from foretell.errors import listed
from foretell.protocol import FeedbackItem, RewardReport, SignalReport
from foretell.service.model.decision_id import Token
from foretell.service.model.errors import Unusable
from foretell.service.model.events import AnyEvent, Feedback, Rewarded, Signalled
from foretell.service.model.outcome import FeedbackRecord
from foretell.service.model.timestamps import parse_timestamp


class _WithEventId(Struct):
    event_id: str | None = None


_EVENT_ID = msgspec.json.Decoder(_WithEventId)
SAME_ID = ""
"""The target of a correction that was sent under the id of the reward it corrects."""


def feedback_event(
    report: SignalReport | RewardReport | FeedbackItem,
    token: Token,
    now: int,
    signals: dict[str, int],
) -> Feedback:
    """Return the event of a report, or refuse it."""
    event_id = report.event_id or secrets.token_hex(8)
    occurred = _checked_time(report.occurred_at)
    signal = getattr(report, "signal", None)
    if isinstance(report, FeedbackItem) and signal is not None:
        if report.value is not None:
            raise Unusable("an event is a signal or a reward, got both: send two events")
        if report.kind != "reward" or report.target is not None:
            raise Unusable("a signal has no kind and no target: leave them out")
    if signal is not None:
        if signal not in signals:
            raise Unusable(f"there is no signal {signal!r}: choose one of {listed(signals)}")
        return Signalled(
            now, token.round, event_id, token.decided_at, signals[signal], report.occurred_at
        )
    value, target = _reward(report)
    return Rewarded(
        now,
        token.round,
        event_id,
        token.decided_at,
        report.kind,  # type: ignore[union-attr]
        value,
        target,
        report.occurred_at,
        occurred,
    )


def event_id_in(raw: Raw) -> str | None:
    """Return the id of an event that is rejected, if the id can be read."""
    try:
        return _EVENT_ID.decode(raw).event_id
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def same_report(one: Any, other: Any) -> bool:
    """Return whether two events say the same, whenever they came and however a time is written."""
    if type(one) is not type(other) or _occurred_at(one) != _occurred_at(other):
        return False
    bare = [
        msgspec.structs.replace(event, recorded_at=0, occurred_at=None) for event in (one, other)
    ]
    return bool(bare[0] == bare[1])


def with_event_id(event: Feedback, known: Sequence[FeedbackRecord]) -> Feedback:
    """Return a correction with an id of its own, if it was sent under the id of its reward.

    `known` are the records about the decision. Sent again, the correction gets the same id, unless
    a different correction came in between.
    """
    if not isinstance(event, Rewarded) or event.target != SAME_ID:
        return event
    rewards = [one.event for one in known if isinstance(one.event, Rewarded)]
    if all(one.kind != "reward" or one.event_id != event.event_id for one in rewards):
        raise Unusable(_needs_target(event.kind))
    earlier = [one for one in rewards if one.target == event.event_id]
    event = msgspec.structs.replace(event, target=event.event_id)
    for last in earlier[-1:]:
        again = msgspec.structs.replace(event, event_id=last.event_id)
        if same_report(again, last):
            return again
    return msgspec.structs.replace(event, event_id=f"{event.target}~{len(earlier) + 1}")


def why_parked(event: Feedback, target: AnyEvent | None) -> str:
    """Return why feedback is parked: it may count later."""
    if not isinstance(event, Rewarded) or event.target is None:
        return "the decision is not in this log: it counts if the decision comes"
    if target is None:
        return f"there is no reward {event.target!r} yet: it counts if the reward comes"
    return f"{event.target!r} is no reward of this decision: name one as the target"


def _reward(report: Any) -> tuple[float, str | None]:
    value, kind, target = report.value, report.kind, report.target
    if kind == "reward" and target is not None:
        raise Unusable("a reward names no target: leave it out, or make it an adjust or a retract")
    if kind != "reward" and target is None:
        if report.event_id is None:
            raise Unusable(_needs_target(kind))
        target = SAME_ID
    if kind == "retract":  # it takes back the whole reward, whatever its value says
        return 0.0, target
    if value is None:
        raise Unusable(f"{_with_article(kind)} needs a value: a number")
    if not math.isfinite(value) or abs(value) > 1e300:
        raise Unusable(f"a reward must lie within ±1e300, got {value}: report such a number")
    return float(value), target


def _needs_target(kind: str) -> str:
    return f"{_with_article(kind)} needs the target: the event_id of the reward that it changes"


def _with_article(kind: str) -> str:
    return f"{'an' if kind == 'adjust' else 'a'} {kind}"


def _occurred_at(event: Feedback) -> int | None:
    return None if event.occurred_at is None else parse_timestamp(event.occurred_at)


def _checked_time(written: str | None) -> int | None:
    if written is None:
        return None
    occurred = parse_timestamp(written)
    if occurred is None:
        raise Unusable(
            f"occurred_at must be a time with its zone as in 2026-01-31T12:00:00Z, got {written!r}"
        )
    return occurred
