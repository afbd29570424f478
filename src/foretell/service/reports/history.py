"""Records of the log with names in place of numbers: one by one, and as a decision's history."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from foretell import protocol
from foretell.service.log.record import Record
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.events import AnyEvent, CampaignConfig, Decided, Rewarded, Signalled
from foretell.service.model.outcome import DecisionRecords, lacks_target, outcome_of, rewards
from foretell.service.model.timestamps import format_timestamp


def decision_history(
    decision_id: str,
    active: ActiveCampaign,
    seq: int,
    records: DecisionRecords,
    context: bytes,
    policy: str,
) -> protocol.DecisionHistory:
    """Return all that is known about one decision, which `policy` made."""
    campaign, config, decided = active.campaign, active.config, records.decided
    outcome = outcome_of(campaign.rules, records, campaign.as_of)
    rules = campaign.rules
    rewarded = rewards(records.feedback)
    events = [_history_event(config, seq, decided, "accepted")]
    for number, event in records.feedback:
        due = rules.signal_due if isinstance(event, Signalled) else rules.reward_due
        status: protocol.ReceiptStatus = (
            "late" if event.recorded_at >= due(decided.decided_at) else "accepted"
        )
        if isinstance(event, Rewarded) and lacks_target(event, rewarded):
            status = "parked"
        events.append(_history_event(config, number, event, status))
    return protocol.DecisionHistory(
        decision_id=decision_id,
        campaign=config.name,
        round=decided.round,
        decided_at=format_timestamp(decided.decided_at),
        action=config.actions[decided.action],
        propensity=decided.propensity,
        mode=decided.mode,
        policy=policy,
        eligible=_eligible(config, decided),
        signal=None if outcome.signal is None else config.signals[outcome.signal],
        signal_due_at=format_timestamp(rules.signal_due(decided.decided_at)),
        reward=outcome.reward,
        reward_due_at=format_timestamp(rules.reward_due(decided.decided_at)),
        context=msgspec.json.decode(context) if context else None,
        events=events,
    )


def _history_event(
    config: CampaignConfig, seq: int, event: AnyEvent, status: protocol.ReceiptStatus
) -> protocol.HistoryEvent:
    view = record_view(config, Record(seq, 0, event))
    names = ("event_id", "signal", "value", "kind", "target", "occurred_at")
    return protocol.HistoryEvent(
        seq,
        view.recorded_at,
        view.type,
        status=status,
        **{name: view.body.get(name) for name in names},
    )


def record_view(
    config: CampaignConfig, record: Record, decision_id: str | None = None
) -> protocol.RecordView:
    """Return a record with names in place of numbers; the id is that of its decision."""
    event = record.event
    body: dict[str, Any] = {
        name: value
        for name, value in msgspec.structs.asdict(event).items()
        if value is not None
        and name not in ("recorded_at", "request", "occurred", "decided_at", "secret", "digest")
    }
    if decision_id is not None:
        body["decision_id"] = decision_id
    if isinstance(event, Decided):
        body["action"] = config.actions[event.action]
        body["eligible"] = _eligible(config, event)
    elif isinstance(event, Signalled):
        body["signal"] = config.signals[event.signal]
    elif isinstance(event, Rewarded) and event.kind == "retract":
        del body["value"]
    if "config" in body:
        body["config"] = msgspec.structs.asdict(body["config"])
        del body["config"]["seed"]  # whoever knows it can predict every choice
    kind = str(type(event).__struct_config__.tag)
    return protocol.RecordView(record.seq, format_timestamp(event.recorded_at), kind, body)


def _eligible(config: CampaignConfig, decided: Decided) -> list[str]:
    if isinstance(decided.eligible, int):
        return list(config.actions[: decided.eligible])
    bits = np.unpackbits(np.frombuffer(decided.eligible, np.uint8))
    return [config.actions[index] for index in np.flatnonzero(bits)]
