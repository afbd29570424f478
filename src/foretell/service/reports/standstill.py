"""Sentences about what does not come or does not run: since when, what is missing, what to do."""

from __future__ import annotations

from foretell.protocol.fields import SILENT
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.freshness import Freshness
from foretell.service.reports.traffic_pause import TrafficPause
from foretell.service.reports.words import ago, day_and_time, many, since


def rewards_stopped_sentence(copy: CampaignCopy, fresh: Freshness) -> str:
    """Return since when no rewards come, what that does, and where to look."""
    name, last = copy.reward_word, fresh.last_reward
    going = [
        word
        for word, at, stopped in (
            ("decisions", fresh.last_decision, False),
            ("signals", fresh.last_signal, fresh.signals_stopped),
        )
        if at > last and not stopped
    ]
    others = " and ".join(going).capitalize()
    look = f"look at the job that reports {name}"
    return (
        f"No {name} have come since {day_and_time(last, copy.as_of)}; about "
        f"{fresh.shown.rewards_due:,.0f} were due by now. "
        f"{f'{others} go on, so {look}' if others else look.capitalize()}. "
        f"{_closed(fresh.shown.closed_meanwhile)}."
    )


def _closed(decisions: int) -> str:
    """Return how many decisions have closed without a reward, and what repairs them."""
    if decisions == 1:
        return "1 decision has closed without one meanwhile, and is repaired when its own comes"
    return (
        f"{decisions:,} decisions have closed without one meanwhile, and are repaired when theirs "
        f"come"
    )


def signals_stopped_sentence(copy: CampaignCopy, fresh: Freshness) -> str:
    """Return since when no signals come, and from when on that counts."""
    said = (
        f"No signal has come {since(fresh.last_signal, copy.as_of)}; about "
        f"{fresh.shown.signals_due:,.0f} were due. Look at what reports signals."
    )
    if not copy.rules.stages[0].waits:
        return said
    closes = copy.rules.due(0, fresh.last_signal)
    when = day_and_time(closes, copy.as_of)
    if closes > copy.as_of:
        return f'{said} From {when} on silence will count as "{SILENT}".'
    return f'{said} Since {when} silence counts as "{SILENT}".'


def traffic_stopped_sentence(copy: CampaignCopy, pause: TrafficPause) -> str:
    """Return since when nobody asks for decisions, and how many usually are by then."""
    return (
        f"Nobody has asked for a decision {since(copy.counters.stretches.last, copy.as_of)}; at "
        f"these hours of other days about {pause.due:,.0f} were asked for. Look at what asks for "
        f"decisions."
    )


def quiet_sentence(copy: CampaignCopy, pause: TrafficPause) -> str:
    """Return since when nobody asks for decisions, and whether that is usual."""
    asked = f"Nobody has asked for a decision {since(copy.counters.stretches.last, copy.as_of)}"
    if pause.kind == "usual":
        return f"{asked}, as at these hours of other days."
    return f"{asked}. It is too early to say whether that is usual at this hour."


def not_running_sentence(copy: CampaignCopy) -> str:
    """Return that a campaign is paused, stopped or a draft, since when and by whom."""
    status = copy.config.status
    if status == "draft":
        return "Not started yet: start it to decide."
    change, counters = copy.status_change, copy.counters
    who = ""
    if change is not None:
        who = f" {ago(change.at, copy.as_of)}"
        who += " by the server" if change.by is None else f" by key {change.by.name}"
    waiting = copy.progress.decided - counters.voided - int(counters.paid.sum())
    wait = f"{many(waiting, 'decision waits for its own', 'decisions wait for theirs')}"
    return f"{status.capitalize()}{who}. Nothing is decided; feedback still counts, and {wait}."
