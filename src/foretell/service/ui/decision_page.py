"""The page of one decision: from the choice to its settled reward."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from foretell import protocol
from foretell.pages import render
from foretell.service.http.responses import Response, encode
from foretell.service.model.timestamps import parse_timestamp
from foretell.service.reports.words import day_and_time, span
from foretell.service.ui.formats import reward
from foretell.service.ui.statuses import Shown
from foretell.service.ui.visit import Visit, redirect


class TimelineEvent(NamedTuple):
    """One thing that happened to a decision, or follows from the clock."""

    at: int
    kind: str
    """How it is drawn: reported, derived, or ignored."""
    what: str
    more: str


async def find_decision(visit: Visit) -> Response:
    """Lead from an id that was typed in to its page."""
    asked = visit.query.get("id", "").strip()
    return redirect(f"/ui/decisions/{quote(asked, safe='')}" if asked else "/ui")


async def decision_page(visit: Visit) -> Response:
    """Show all that is known about one decision."""
    own = None if visit.caller is None else visit.caller.campaign
    found = await visit.engine.history(visit.params["decision"], own)
    view = visit.engine.campaign(found.campaign)
    now, decided = _moment(found.as_of), _moment(found.decided_at)
    timeline = sorted(_timeline(found, now), key=lambda one: one.at)
    main = render(
        "decision.html",
        found=found,
        view=view,
        title=day_and_time(decided, now),
        state=_state(found),
        lead=_lead(found, view),
        timeline=[_shown(one, decided, now) for one in timeline],
        record=msgspec.json.format(encode(found), indent=2).decode(),
    )
    return visit.page("Decision", main, here="decision")


def _moment(text: str) -> int:
    return parse_timestamp(text) or 0


def _state(found: protocol.DecisionHistory) -> Shown:
    if found.voided:
        return Shown("still", "‖", "Void")
    if found.reward is not None:
        return Shown("good", "✓", "Settled")
    return Shown("open", "◔", "Open")


def _lead(found: protocol.DecisionHistory, view: protocol.CampaignView) -> str:
    """Return what has become of a decision, in a sentence."""
    chosen = f"{found.action} was chosen"
    if found.voided:
        return f"{chosen} and never shown: nothing reported about it counts."
    if found.signal is None:
        return f"{chosen}. Its signal is waited for until {_until(found.signal_due_at, found)}."
    said = f"{chosen}, and its signal is {found.signal!r}."
    if found.reward is None:
        return f"{said} Its reward is waited for until {_until(found.reward_due_at, found)}."
    word = view.reward_name or "rewards"
    return f"{said} It counts as {reward(found.reward)} {word}."


def _until(due: str, found: protocol.DecisionHistory) -> str:
    return day_and_time(_moment(due), _moment(found.as_of))


def _timeline(found: protocol.DecisionHistory, now: int) -> list[TimelineEvent]:
    how = {
        "policy": "By the policy",
        "explore": "To explore, at random",
        "holdout": "As a part of the holdout, at random",
        "sticky": "As before for the same unit",
    }[found.mode]
    chosen = (
        f"{how}, out of {len(found.eligible)} eligible actions, with propensity "
        f"{found.propensity:.3f}. Policy {found.policy}."
    )
    events = [
        TimelineEvent(_moment(found.decided_at), "reported", f"{found.action} was chosen", chosen)
    ]
    events += [_reported(one) for one in found.events if one.type != "decision"]
    for due, what, settled, learns in (
        (found.signal_due_at, "Signal window closed", found.signal, "the policy learns from it"),
        (
            found.reward_due_at,
            "Reward window closed",
            found.reward,
            "only what is late changes it",
        ),
    ):
        if _moment(due) <= now and not found.voided and settled is not None:
            text = settled if isinstance(settled, str) else reward(settled)
            events.append(
                TimelineEvent(_moment(due), "derived", f"{what}: {text}", f"From now on {learns}.")
            )
    return events


def _reported(one: protocol.HistoryEvent) -> TimelineEvent:
    counted = one.status in {None, "accepted", "late"}
    what = "It was never shown"
    if one.signal is not None:
        what = f"Signal: {one.signal}"
    elif one.kind == "retract":
        what = "A reward was taken back"
    elif one.value is not None:
        what = f"{'Reward' if one.kind != 'adjust' else 'Reward corrected'}: {reward(one.value)}"
    parts = [f"event {one.event_id}"] if one.event_id else []
    if one.target:
        parts.append(f"about {one.target}")
    if one.occurred_at:
        parts.append(f"it happened at {one.occurred_at}")
    if one.status not in {None, "accepted"}:
        parts.append(f"status: {one.status}")
    more = "; ".join(parts)
    kind = "reported" if counted else "ignored"
    return TimelineEvent(_moment(one.recorded_at), kind, what, more[:1].upper() + more[1:])


def _shown(one: TimelineEvent, decided: int, now: int) -> dict[str, Any]:
    passed = (one.at - decided) / 1e6
    return one._asdict() | {
        "after": f"+{span(passed)}" if passed > 0 else "0",
        "when": day_and_time(one.at, now),
    }
