"""Lines of the log in words: one by one, and as the story of a decision."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from foretell import protocol
from foretell.service.log.sqlite.reader import Stored
from foretell.service.model.active_campaign import Running
from foretell.service.model.events import AnyEvent, Decided, Rewarded, Setup, Signalled
from foretell.service.model.outcome import Facts, lacks_target, rewards, standing
from foretell.service.model.timestamps import text


def story(
    decision_id: str, live: Running, seq: int, facts: Facts, context: bytes, policy: str
) -> protocol.Story:
    """Give all about one decision, which was made by `policy`."""
    campaign, setup, decided = live.campaign, live.setup, facts.decided
    stands = standing(campaign.rules, facts, campaign.as_of)
    rules = campaign.rules
    paid = rewards(facts.lines)
    events = [_story_line(setup, seq, decided, "accepted")]
    for number, event in facts.lines:
        due = rules.signal_due if isinstance(event, Signalled) else rules.reward_due
        status: protocol.Verdict = "late" if event.at >= due(decided.at) else "accepted"
        if isinstance(event, Rewarded) and lacks_target(event, paid):
            status = "parked"
        events.append(_story_line(setup, number, event, status))
    return protocol.Story(
        decision_id=decision_id,
        campaign=setup.name,
        round=decided.round,
        at=text(decided.at),
        action=setup.actions[decided.action],
        propensity=decided.propensity,
        mode=decided.mode,
        policy=policy,
        eligible=_eligible(setup, decided),
        signal=None if stands.signal is None else setup.signals[stands.signal],
        signal_due_at=text(rules.signal_due(decided.at)),
        reward=stands.reward,
        reward_due_at=text(rules.reward_due(decided.at)),
        context=msgspec.json.decode(context) if context else None,
        events=events,
    )


def _story_line(
    setup: Setup, seq: int, event: AnyEvent, status: protocol.Verdict
) -> protocol.StoryEvent:
    line = log_line(setup, Stored(seq, 0, event))
    names = ("event_id", "signal", "value", "kind", "target", "occurred_at")
    return protocol.StoryEvent(
        seq, line.at, line.type, status=status, **{name: line.body.get(name) for name in names}
    )


def log_line(setup: Setup, stored: Stored, decision_id: str | None = None) -> protocol.LogLine:
    """Write a line of the log with names in place of numbers; the id is that of its decision."""
    event = stored.event
    body: dict[str, Any] = {
        name: value
        for name, value in msgspec.structs.asdict(event).items()
        if value is not None
        and name not in ("at", "request", "occurred", "made", "secret", "digest")
    }
    if decision_id is not None:
        body["decision_id"] = decision_id
    if isinstance(event, Decided):
        body["action"] = setup.actions[event.action]
        body["eligible"] = _eligible(setup, event)
    elif isinstance(event, Signalled):
        body["signal"] = setup.signals[event.signal]
    elif isinstance(event, Rewarded) and event.kind == "retract":
        del body["value"]
    if "setup" in body:
        body["setup"] = msgspec.structs.asdict(body["setup"])
        del body["setup"]["seed"]  # whoever knows it can tell what will be chosen
    kind = str(type(event).__struct_config__.tag)
    return protocol.LogLine(stored.seq, text(event.at), kind, body)


def _eligible(setup: Setup, decided: Decided) -> list[str]:
    if isinstance(decided.eligible, int):
        return list(setup.actions[: decided.eligible])
    bits = np.unpackbits(np.frombuffer(decided.eligible, np.uint8))
    return [setup.actions[place] for place in np.flatnonzero(bits)]
