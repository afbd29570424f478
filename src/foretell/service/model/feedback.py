"""From a report of a signal or a reward to an event of the log."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, NoReturn

import msgspec
from msgspec import Raw, Struct

from foretell.errors import UnknownName, listed
from foretell.protocol import FeedbackItem, RewardReport, SignalReport, VoidReport
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.errors import Unusable
from foretell.service.model.events import FEEDBACK_VERBS, OBSERVED, VOID, AnyEvent, Feedback
from foretell.service.model.timestamps import format_timestamp, parse_timestamp
from foretell.service.model.validation import refuse

AnyReport = SignalReport | RewardReport | VoidReport | FeedbackItem
FAR_OUTSIDE = 10
"""A reward so many times outside its range is in another unit, or a mistake."""
TOLERATED_FUTURE = 300 * 1_000_000
"""Microseconds by which the clock of a client may be ahead."""


class _WithEventId(Struct):
    event_id: str | None = None


_EVENT_ID = msgspec.json.Decoder(_WithEventId)


def feedback_event(
    report: AnyReport, active: ActiveCampaign, decision: int, latest: Callable[[], int]
) -> Feedback:
    """Return the event of a report about a decision, or refuse it; `latest` returns the present."""
    event_id = report.event_id or secrets.token_hex(8)
    try:
        stage, verb, value = _content(report, active)
    except Unusable as error:
        _refuse_with_time(error, report.occurred_at, latest)
    occurred = _checked_time(report.occurred_at, latest)
    target = getattr(report, "target", None)
    event = Feedback(active.version, event_id, stage, verb, value, target, occurred)
    if report.event_id is None and target is not None:
        return msgspec.structs.replace(event, event_id=_correction_id(event, active, decision))
    return event


def _content(report: AnyReport, active: ActiveCampaign) -> tuple[int, int, float]:
    """Return the stage, the verb and the value of a report."""
    signal = getattr(report, "signal", None)
    kind = getattr(report, "kind", "reward")
    if isinstance(report, FeedbackItem):
        _refuse_mixed(report)
        _refuse_empty(report, active)
    if isinstance(report, VoidReport) or kind == "void":
        return 0, VOID, 0.0
    if signal is not None:
        if signal not in active.signals:
            raise Unusable(_no_signal(signal, active), field="signal")
        return 0, OBSERVED, float(active.signals[signal])
    verb = OBSERVED if kind == "reward" else FEEDBACK_VERBS.index(kind)
    return len(active.config.stages) - 1, verb, _reward(report, active.config.reward_range)


def _correction_id(event: Feedback, active: ActiveCampaign, decision: int) -> str:
    """Return an id for a correction that came without: the same one again has the same id.

    So it is a duplicate, and does not undo another correction that came meanwhile. The digest is
    keyed: nobody can claim the id before.
    """
    said = (decision, event.verb_index, event.target, event.value, event.occurred)
    key = active.config.seed.to_bytes(8)
    return hashlib.blake2b(msgspec.msgpack.encode(said), key=key, digest_size=12).hexdigest()


def _refuse_with_time(error: Unusable, written: str | None, latest: Callable[[], int]) -> NoReturn:
    """Refuse a report, and its time too where that is wrong as well."""
    try:
        _checked_time(written, latest)
    except Unusable as other:
        refuse([*error.errors, *other.errors])
    raise error


def _no_signal(signal: str, active: ActiveCampaign) -> str:
    """Return that there is no such signal, with the nearest one and all there are."""
    unknown = UnknownName.of("signal", signal, active.signals)
    known = listed(active.signals)
    return str(unknown) if known in str(unknown) else f"{unknown} (there are {known})"


def event_id_in(raw: Raw) -> str | None:
    """Return the id of an event that is rejected, if the id can be read."""
    try:
        return _EVENT_ID.decode(raw).event_id
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def same_report(one: AnyEvent, other: Feedback) -> bool:
    """Return whether two events say the same, under whatever configuration they came."""
    return isinstance(one, Feedback) and msgspec.structs.replace(one, config=0) == (
        msgspec.structs.replace(other, config=0)
    )


def clipped_sentence(total: float, reward_range: tuple[float, float]) -> str:
    """Return that a reward lies outside its range, and what it counts as."""
    low, high = reward_range
    return (
        f"the reward of the decision is {total:g}, outside the reward_range [{low:g}, {high:g}]: "
        f"it is stored, and counts as {min(max(total, low), high):g}"
    )


def why_parked(event: Feedback, target: AnyEvent | None) -> str:
    """Return why feedback is parked: it may count later."""
    if event.target is None:
        return "the decision is not in this log: it counts if the decision comes"
    if target is None:
        return f"there is no reward {event.target!r} yet: it counts if the reward comes"
    return f"{event.target!r} is no reward of this decision: name one as the target"


def _refuse_mixed(item: FeedbackItem) -> None:
    """Refuse an event of a batch that is two things at once."""
    if item.signal is not None:
        if item.value is not None:
            raise Unusable(
                "an event has a signal or a value, got both: send two events", field="value"
            )
        if item.kind != "reward" or item.target is not None:
            given = {"kind": item.kind, "target": item.target}
            extra = {name: value for name, value in given.items() if value not in ("reward", None)}
            raise Unusable(
                f"a signal has no kind and no target, got "
                f"{' and '.join(f'{name} {value!r}' for name, value in extra.items())}: "
                f"leave {'them' if len(extra) > 1 else 'it'} out, or send two events",
                field=next(iter(extra)),
            )
    if item.kind == "void" and (item.value is not None or item.target is not None):
        raise Unusable(
            f"a void has no value and no target, got value {item.value} and target "
            f"{item.target!r}: leave them out",
            field="value",
        )


def _refuse_empty(item: FeedbackItem, active: ActiveCampaign) -> None:
    """Refuse an event of a batch that says nothing."""
    if item.kind == "reward" and (item.signal, item.value, item.target) == (None, None, None):
        raise Unusable(
            f"an event needs a signal, a value or a kind, got none of them: send the signal "
            f"(one of {listed(active.signals)}), the value of a reward, or the kind 'void'",
            field="value",
        )


def _reward(report: Any, reward_range: tuple[float, float]) -> float:
    value, kind, target = report.value, report.kind, report.target
    article = "an" if kind == "adjust" else "a"
    if kind == "reward" and target is not None:
        raise Unusable(
            f"a reward names no target, got {target!r}: leave it out, or make it an adjust or a "
            f"retract",
            field="target",
        )
    if kind != "reward" and target is None:
        raise Unusable(
            f"{article} {kind} needs the target: the event_id of the reward that it changes",
            field="target",
        )
    if kind == "retract":  # it takes back the whole reward, whatever its value says
        return 0.0
    if value is None:
        raise Unusable(f"{article} {kind} needs a value: send a number", field="value")
    low, high = reward_range
    reach = (FAR_OUTSIDE - 1) * (high - low)
    if not low - reach < value < high + reach:
        raise Unusable(
            f"value must be less than {FAR_OUTSIDE} times outside the reward_range [{low}, {high}] "
            f"of the campaign, got {value}: report it in the unit of the range, or change that",
            field="value",
        )
    return float(value)


def _checked_time(written: str | None, latest: Callable[[], int]) -> int | None:
    if written is None:
        return None
    occurred = parse_timestamp(written)
    if occurred is None:
        raise Unusable(
            f"occurred_at must be a time with its zone, got {written!r}: "
            f"write it as in 2026-01-31T12:00:00Z",
            field="occurred_at",
        )
    present = latest()
    if occurred > present + TOLERATED_FUTURE:
        raise Unusable(
            f"occurred_at must not be in the future, got {written!r} at "
            f"{format_timestamp(present)}: set the clock that wrote it, or leave it out",
            field="occurred_at",
        )
    return occurred
