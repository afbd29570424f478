"""From a report of a signal or a reward to a record of the log."""

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
from foretell.service.model.timestamps import moment


class _Named(Struct):
    event_id: str | None = None


_NAMED = msgspec.json.Decoder(_Named)
UNNAMED = ""
"""The target of a correction that has only one name: that of the reward it corrects."""


def line_of(
    report: SignalReport | RewardReport | FeedbackItem,
    token: Token,
    now: int,
    signals: dict[str, int],
) -> Feedback:
    """Return the record of a report, or say why it cannot be used."""
    event_id = report.event_id or secrets.token_hex(8)
    occurred = _occurred(report.occurred_at)
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


def id_in(raw: Raw) -> str | None:
    """Find the id of an event that cannot be used, if it has one that can be read."""
    try:
        return _NAMED.decode(raw).event_id
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def same(one: Any, other: Any) -> bool:
    """Return whether two records say the same, whenever they came and however a time is written."""
    if type(one) is not type(other) or _moment(one) != _moment(other):
        return False
    bare = [
        msgspec.structs.replace(record, recorded_at=0, occurred_at=None) for record in (one, other)
    ]
    return bool(bare[0] == bare[1])


def named(event: Feedback, known: Sequence[FeedbackRecord]) -> Feedback:
    """Return a correction that has only the name of the reward it corrects a name of its own.

    `known` are the records about the decision. Sent again, it gets the same name; it is another one
    if a different correction came in between.
    """
    if not isinstance(event, Rewarded) or event.target != UNNAMED:
        return event
    rewards = [one.event for one in known if isinstance(one.event, Rewarded)]
    if all(one.kind != "reward" or one.event_id != event.event_id for one in rewards):
        raise Unusable(_needs_target(event.kind))
    earlier = [one for one in rewards if one.target == event.event_id]
    event = msgspec.structs.replace(event, target=event.event_id)
    for last in earlier[-1:]:
        again = msgspec.structs.replace(event, event_id=last.event_id)
        if same(again, last):
            return again
    return msgspec.structs.replace(event, event_id=f"{event.target}~{len(earlier) + 1}")


def why_parked(event: Feedback, target: AnyEvent | None) -> str:
    """Say what feedback waits for, which may never come."""
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
        target = UNNAMED
    if kind == "retract":  # it takes all of the reward back, whatever its value says
        return 0.0, target
    if value is None:
        raise Unusable(f"{_one(kind)} needs a value: a number")
    if not math.isfinite(value) or abs(value) > 1e300:
        raise Unusable(f"a reward must lie within ±1e300, got {value}: report such a number")
    return float(value), target


def _needs_target(kind: str) -> str:
    return f"{_one(kind)} needs the target: the event_id of the reward that it changes"


def _one(kind: str) -> str:
    return f"{'an' if kind == 'adjust' else 'a'} {kind}"


def _moment(record: Feedback) -> int | None:
    return None if record.occurred_at is None else moment(record.occurred_at)


def _occurred(written: str | None) -> int | None:
    if written is None:
        return None
    read = moment(written)
    if read is None:
        raise Unusable(
            f"occurred_at must be a time with its zone as in 2026-01-31T12:00:00Z, got {written!r}"
        )
    return read
