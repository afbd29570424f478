"""From a report of a signal or a reward to an event of the log."""

from __future__ import annotations

import hashlib
import math
import secrets
from typing import Any

import msgspec
from msgspec import Raw, Struct

from foretell.errors import listed
from foretell.protocol import FeedbackItem, RewardReport, SignalReport, VoidReport
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.errors import Unusable
from foretell.service.model.events import FEEDBACK_VERBS, OBSERVED, VOID, AnyEvent, Feedback
from foretell.service.model.timestamps import parse_timestamp

AnyReport = SignalReport | RewardReport | VoidReport | FeedbackItem


class _WithEventId(Struct):
    event_id: str | None = None


_EVENT_ID = msgspec.json.Decoder(_WithEventId)


def feedback_event(report: AnyReport, active: ActiveCampaign, decision: int) -> Feedback:
    """Return the event of a report about a decision, or refuse it."""
    event_id = report.event_id or secrets.token_hex(8)
    version, occurred = active.version, _checked_time(report.occurred_at)
    signal = getattr(report, "signal", None)
    kind = getattr(report, "kind", "reward")
    if isinstance(report, FeedbackItem):
        _refuse_mixed(report)
    if isinstance(report, VoidReport) or kind == "void":
        return Feedback(version, event_id, 0, VOID, 0.0, None, occurred)
    if signal is not None:
        if signal not in active.signals:
            raise Unusable(f"there is no signal {signal!r}: choose one of {listed(active.signals)}")
        value = float(active.signals[signal])
        return Feedback(version, event_id, 0, OBSERVED, value, None, occurred)
    verb = OBSERVED if kind == "reward" else FEEDBACK_VERBS.index(kind)
    stage = len(active.config.stages) - 1
    target = getattr(report, "target", None)
    event = Feedback(version, event_id, stage, verb, _reward(report), target, occurred)
    if report.event_id is None and target is not None:
        return msgspec.structs.replace(event, event_id=_correction_id(event, active, decision))
    return event


def _correction_id(event: Feedback, active: ActiveCampaign, decision: int) -> str:
    """Return an id for a correction that came without: the same one again has the same id.

    So it is a duplicate, and does not undo another correction that came meanwhile. The digest is
    keyed: nobody can claim the id before.
    """
    said = (decision, event.verb_index, event.target, event.value, event.occurred)
    key = active.config.seed.to_bytes(8)
    return hashlib.blake2b(msgspec.msgpack.encode(said), key=key, digest_size=12).hexdigest()


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
            raise Unusable("an event is a signal or a reward, got both: send two events")
        if item.kind != "reward" or item.target is not None:
            raise Unusable("a signal has no kind and no target: leave them out")
    if item.kind == "void" and (item.value is not None or item.target is not None):
        raise Unusable("a void has no value and no target: leave them out")


def _reward(report: Any) -> float:
    value, kind, target = report.value, report.kind, report.target
    article = "an" if kind == "adjust" else "a"
    if kind == "reward" and target is not None:
        raise Unusable("a reward names no target: leave it out, or make it an adjust or a retract")
    if kind != "reward" and target is None:
        raise Unusable(
            f"{article} {kind} needs the target: the event_id of the reward that it changes"
        )
    if kind == "retract":  # it takes back the whole reward, whatever its value says
        return 0.0
    if value is None:
        raise Unusable(f"{article} {kind} needs a value: a number")
    if not math.isfinite(value) or abs(value) > 1e300:
        raise Unusable(f"a reward must lie within ±1e300, got {value}: report such a number")
    return float(value)


def _checked_time(written: str | None) -> int | None:
    if written is None:
        return None
    occurred = parse_timestamp(written)
    if occurred is None:
        raise Unusable(
            f"occurred_at must be a time with its zone as in 2026-01-31T12:00:00Z, got {written!r}"
        )
    return occurred
