"""Records of the log with names in place of numbers: one by one, and as a decision's history."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from foretell import protocol
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import (
    OBSERVED,
    RETRACT,
    VOID,
    CampaignConfig,
    Configured,
    Decided,
    DecisionRecords,
    Feedback,
    Imported,
    ImportedHistory,
    KeyMade,
    KeyRevoked,
    Record,
    SecretMade,
    SecretWithdrawn,
    SessionClosed,
    SessionOpened,
    Stage,
    moment,
)
from foretell.service.model.outcome import (
    Rules,
    is_void,
    lacks_target,
    outcome_of,
    reward_ids,
    rewards,
)
from foretell.service.model.timestamps import format_timestamp
from foretell.service.reports.config_changes import change_sentence, config_changes


def decision_history(
    decision_id: str,
    active: ActiveCampaign,
    records: DecisionRecords,
    context: bytes,
    policy: str,
) -> protocol.DecisionHistory:
    """Return all that is known about one decision, which `policy` made."""
    campaign, config, decided = active.campaign, active.config, records.decided
    rules, decided_at = campaign.rules, records.decided_at
    outcome = outcome_of(rules, records, rules.closed_by(decided_at, campaign.as_of))
    made = Record(records.number, active.number, records.number, decided)
    rewarded = reward_ids(rewards(records.feedback, len(rules.stages) - 1))
    return protocol.DecisionHistory(
        decision_id=decision_id,
        campaign=config.name,
        as_of=format_timestamp(campaign.as_of),
        round=records.rank,
        decided_at=format_timestamp(decided_at),
        action=config.actions[decided.action],
        propensity=decided.propensity,
        mode=decided.mode,
        policy=policy,
        eligible=_eligible(config, decided),
        voided=any(is_void(record) for record in records.feedback),
        signal=None if outcome[0] is None else config.signals[int(outcome[0])],
        signal_due_at=format_timestamp(rules.due(0, decided_at)),
        reward=outcome[-1],
        reward_due_at=format_timestamp(rules.due(-1, decided_at)),
        context=msgspec.json.decode(context) if context else None,
        events=[
            _history_event(config, made, "accepted"),
            *(
                _history_event(config, record, _status(rules, records, record, rewarded))
                for record in records.feedback
            ),
        ],
    )


def _status(
    rules: Rules, records: DecisionRecords, record: Record, rewarded: set[str]
) -> protocol.ReceiptStatus:
    event = record.event
    assert isinstance(event, Feedback)  # noqa: S101  (only feedback is about a decision)
    if lacks_target(event, rewarded):
        return "parked"
    late = record.recorded_at >= rules.due(event.stage, records.decided_at)
    return "late" if late and not is_void(record) else "accepted"


def _history_event(
    config: CampaignConfig, record: Record, status: protocol.ReceiptStatus
) -> protocol.HistoryEvent:
    view = record_view(config, record)
    names = ("event_id", "signal", "value", "kind", "target", "occurred_at")
    return protocol.HistoryEvent(
        view.seq,
        view.recorded_at,
        view.type,
        status=status,
        **{name: view.body.get(name) for name in names},
    )


def record_type(config: CampaignConfig, record: Record) -> protocol.RecordType:
    """Return what kind of record it is."""
    event = record.event
    if isinstance(event, Decided):
        return "decision"
    if isinstance(event, Feedback):
        if event.verb_index == VOID:
            return "void"
        return "signal" if event.stage < len(config.stages) - 1 else "reward"
    if isinstance(event, Configured):
        if event.version == 1:
            return "created"
        return "changed" if event.refit_from is None else "refit"
    return "imported" if isinstance(event, Imported) else "erased"


def record_view(
    config: CampaignConfig,
    record: Record,
    decision_id: str | None = None,
    before: CampaignConfig | None = None,
) -> protocol.RecordView:
    """Return a record with names in place of numbers.

    The id is that of its decision; `before` is the configuration before one that changed.
    """
    event = record.event
    if isinstance(event, Decided):
        body = _decided(config, event)
    elif isinstance(event, Feedback):
        body = _feedback(config, event)
    elif isinstance(event, Configured):
        body = _configured(event, before)
    elif isinstance(event, Imported):
        body = _imported(event)
    else:
        body = msgspec.structs.asdict(event)
    if decision_id is not None:
        body["decision_id"] = decision_id
    return _view(record, record_type(config, record), body)


_SERVER_EVENTS = {
    KeyMade: "key_made",
    KeyRevoked: "key_revoked",
    SecretMade: "secret_made",
    SecretWithdrawn: "secret_withdrawn",
    SessionOpened: "session_opened",
    SessionClosed: "session_closed",
}
_NEVER_SHOWN = ("digest", "secret")


def server_record_view(record: Record) -> protocol.RecordView:
    """Return a record about the server itself, without what is secret."""
    body = msgspec.structs.asdict(record.event)
    for name in _NEVER_SHOWN:
        body.pop(name, None)
    expires = body.pop("expires", None)
    if (until := body.pop("until", None)) is not None:
        expires = until * 1_000_000
    body["expires_at"] = None if expires is None else format_timestamp(expires)
    begins = body.pop("begins", 0)
    body["begins_at"] = format_timestamp(moment(begins)) if begins else None
    return _view(record, _SERVER_EVENTS[type(record.event)], body)


def _view(record: Record, kind: str, body: dict[str, Any]) -> protocol.RecordView:
    if body.get("by") is not None:
        body["by"] = msgspec.structs.asdict(body["by"])
    known = {name: value for name, value in body.items() if value is not None}
    return protocol.RecordView(str(record.seq), format_timestamp(record.recorded_at), kind, known)


def _decided(config: CampaignConfig, event: Decided) -> dict[str, Any]:
    return {
        "config": event.config,
        "action": config.actions[event.action],
        "propensity": event.propensity,
        "mode": event.mode,
        "eligible": _eligible(config, event),
        "state": str(event.state),
        "key": event.key,
        "first": str(event.first) if event.first else None,
    }


def _feedback(config: CampaignConfig, event: Feedback) -> dict[str, Any]:
    body: dict[str, Any] = {
        "config": event.config,
        "event_id": event.event_id,
        "target": event.target,
        "occurred_at": None if event.occurred is None else format_timestamp(event.occurred),
    }
    if event.verb_index == VOID:
        return body
    if event.stage < len(config.stages) - 1:
        return body | {"signal": config.signals[int(event.value)]}
    kind = "reward" if event.verb_index == OBSERVED else event.verb
    value = None if event.verb_index == RETRACT else event.value
    return body | {"kind": kind, "value": value}


def _configured(event: Configured, before: CampaignConfig | None) -> dict[str, Any]:
    config = msgspec.to_builtins(event.config)
    fields = dict(zip(CampaignConfig.__struct_fields__, config, strict=True))
    del fields["seed"]  # whoever knows it can predict every choice
    fields["stages"] = [
        dict(zip(Stage.__struct_fields__, stage, strict=True)) for stage in fields["stages"]
    ]
    fields["history"] = [_history(one) for one in event.config.history]
    refit_from = None if event.refit_from is None else str(event.refit_from)
    body: dict[str, Any] = {
        "version": event.version,
        "config": fields,
        "why": event.why,
        "state_version": event.state_version,
        "refit_from": refit_from,
        "by": event.by,
    }
    if before is not None:
        body["changes"] = config_changes(before, event.config)
        body["sentence"] = change_sentence(body["changes"], event.why, event.by)
    return body


def _history(one: ImportedHistory) -> dict[str, Any]:
    return {"id": one.id, "decisions": one.decisions, "rewards": one.rewards} | _period(
        one.first, one.last
    )


def _imported(event: Imported) -> dict[str, Any]:
    """Return what a part of a history says, without its rows."""
    return {
        "id": event.id,
        "part": event.part,
        "last": event.ends,
        "decisions": event.decisions,
        "rewards": event.rewards,
        "by": event.by,
    } | _period(event.first, event.last)


def _period(first: int | None, last: int | None) -> dict[str, str | None]:
    ends = {"from": first, "to": last}
    return {name: None if at is None else format_timestamp(at) for name, at in ends.items()}


def _eligible(config: CampaignConfig, decided: Decided) -> list[str]:
    if isinstance(decided.eligible, int):
        return list(config.actions[: decided.eligible])
    bits = np.unpackbits(np.frombuffer(decided.eligible, np.uint8))
    return [config.actions[index] for index in np.flatnonzero(bits)]
