"""From a report of a signal or a reward to an event of the log."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import NoReturn

import msgspec
from msgspec import Raw, Struct

from foretell.protocol import FeedbackItem, RewardReport, SignalReport, VoidReport
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.checks.report_checks import (
    checked_reward,
    checked_time,
    no_such,
    refuse_empty,
    refuse_mixed,
)
from foretell.service.model.checks.validation import refuse
from foretell.service.model.errors import Unusable
from foretell.service.model.events import FEEDBACK_VERBS, OBSERVED, VOID, AnyEvent, Feedback

AnyReport = SignalReport | RewardReport | VoidReport | FeedbackItem


class _WithEventId(Struct):
    event_id: str | None = None


_EVENT_ID = msgspec.json.Decoder(_WithEventId)


def feedback_event(
    report: AnyReport, active: ActiveCampaign, decision: int, latest: Callable[[], int]
) -> Feedback:
    """Return the event of a report about a decision, or refuse it; `latest` returns the present."""
    event_id = report.event_id or secrets.token_hex(8)
    try:
        stage, verb, value, target = _content(report, active)
    except Unusable as error:
        _refuse_with_time(error, report.occurred_at, latest)
    occurred = None if report.occurred_at is None else checked_time(report.occurred_at, latest)
    event = Feedback(active.campaign.version, event_id, stage, verb, value, target, occurred)
    if report.event_id is None and target is not None:
        return msgspec.structs.replace(event, event_id=_correction_id(event, active, decision))
    return event


def _content(report: AnyReport, active: ActiveCampaign) -> tuple[int, int, float, str | None]:
    """Return the stage, the verb, the value and the target of a report."""
    if isinstance(report, FeedbackItem):
        refuse_mixed(report)
        if report.signal is not None:
            return 0, OBSERVED, _signal(report.signal, active), None
        refuse_empty(report, active)
    elif isinstance(report, SignalReport):
        return 0, OBSERVED, _signal(report.signal, active), None
    elif isinstance(report, VoidReport):
        return 0, VOID, 0.0, None
    kind = report.kind
    if kind == "void":
        return 0, VOID, 0.0, None
    config = active.campaign.config
    verb = OBSERVED if kind == "reward" else FEEDBACK_VERBS.index(kind)
    return len(config.stages) - 1, verb, checked_reward(report, config.reward_range), report.target


def _signal(name: str, active: ActiveCampaign) -> float:
    index = active.signals.get(name)
    if index is None:
        raise Unusable(no_such("signal", name, active.signals), field="signal")
    return float(index)


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
        checked_time(written, latest)
    except Unusable as other:
        refuse([*error.errors, *other.errors])
    raise error


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
