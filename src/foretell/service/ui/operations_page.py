"""The page of the service itself, in words first."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from foretell import protocol
from foretell.pages import render
from foretell.service.engine import Engine
from foretell.service.http import Metrics
from foretell.service.http.responses import Response
from foretell.service.log.errors import LogClosed
from foretell.service.model.events import moment
from foretell.service.reports.words import day_and_time, span
from foretell.service.ui.fleet_page import csv_response
from foretell.service.ui.formats import count, milliseconds
from foretell.service.ui.tables import Cell, Numbers
from foretell.service.ui.visit import Visit

SLOW_LAG = 1.0
"""Seconds of log time that the policies may be behind before it is said, at the clock's speed."""
FULL_QUEUE = 10_000


class Check(NamedTuple):
    """One thing that can be wrong."""

    kind: str
    name: str
    sentence: str
    now: str
    term: str


async def operations_page(visit: Visit) -> Response:
    """Show whether the service is well."""

    async def make() -> str:
        checks = _checks(visit.engine, visit.site.metrics)
        return render(
            "operations.html",
            checks=checks,
            wrong=[one for one in checks if one.kind == "bad"],
            log=visit.engine.gauges(),
            may_see_keys=visit.may_change,
            keys=_keys(visit.engine) if visit.may_change else None,
            own=visit.author,
            pages=visit.site.pulse.open,
        )

    what = ("operations", visit.may_change, visit.author)
    return await visit.kept_page("Operations", what, make, "operations")


def _keys(engine: Engine) -> list[protocol.KeyView] | None:
    """Return the valid keys; None while the log cannot be read: the rest is shown then."""
    with suppress(LogClosed):
        return engine.keys()
    return None


async def operations_csv(visit: Visit) -> Response:
    """Send the engine's numbers."""
    rows: list[list[Cell]] = [[name, value] for name, value in visit.engine.gauges().items()]
    return csv_response(Numbers("operations", "Numbers of the engine", ["what", "now"], rows))


def _checks(engine: Engine, metrics: Metrics) -> list[Check]:
    gauges, health = engine.gauges(), engine.health()
    return [
        _log(health),
        Check(
            "good",
            "Newest record",
            "It is on disk, and so are all before it.",
            day_and_time(moment(engine.runtime.log.head())),
            "The end of the log, by the log’s own time.",
        ),
        _commits(gauges, metrics),
        _decide(metrics),
        _lag(gauges["fold_lag_seconds"], engine.time_scale),
        Check(
            "good",
            "Saved states",
            "A restart reads the saved states, and then the records since.",
            span(gauges["state_age_seconds"]) + " old" if gauges["state_age_seconds"] else "now",
            "A saved state of the policies. It is made from the log, and can be made again.",
        ),
        _clock(gauges["clock_ahead_seconds"]),
        Check(
            "open" if gauges["parked_events"] else "good",
            "Parked feedback",
            "Some feedback waits for a reward to correct, or for its decision."
            if gauges["parked_events"]
            else "No feedback waits for anything.",
            count(gauges["parked_events"]),
            "Feedback that is kept and counts when what it is about has come.",
        ),
        Check(
            "bad" if gauges["damage"] else "good",
            "Damage",
            "Something that is stored is damaged: the server’s log says what."
            if gauges["damage"]
            else "None found. Every record is checked whenever it is read, and all now and then.",
            count(gauges["damage"]),
            "Every record has a checksum and is linked to the one before it.",
        ),
    ]


def _log(health: protocol.Health) -> Check:
    well = health.status == "ok"
    said = (
        "Everything that was acknowledged is on disk."
        if well
        else f"It is closed: {health.detail}."
    )
    term = "Every decision, signal, reward and setting is one record of the log."
    return Check("good" if well else "bad", "Log", said, "open" if well else "closed", term)


def _commits(gauges: dict[str, float], metrics: Metrics) -> Check:
    commits = gauges["commits"]
    events = metrics.feedback["accepted"] + metrics.feedback["late"]
    size = (sum(metrics.decisions.values()) + events) / commits if commits else 0.0
    mean = gauges["commit_seconds"] / commits if commits else None
    queued = gauges["queued_records"]
    said = f"An answer waits about {milliseconds(mean)} for the disk."
    if mean is None:
        said = "Nothing was written since the server was started."
    elif queued > FULL_QUEUE:
        said = f"{count(queued)} records wait to be written: the disk is too slow."
    return Check(
        "open" if queued > FULL_QUEUE else "good",
        "Writing",
        said,
        f"{milliseconds(mean)}, {size:.1f} records each, {count(queued)} queued",
        "Writing records to disk. An answer is given when its record is there.",
    )


def _decide(metrics: Metrics) -> Check:
    half, most = metrics.quantiles("decide", (0.5, 0.99))
    said = (
        f"Half of the answers take at most {milliseconds(half)}, 99 in 100 at most "
        f"{milliseconds(most)}."
    )
    if half is None:
        said = "Nobody has asked for a decision since the server was started."
    term = "The time to answer a request for a decision, the disk included; upper ends of buckets."
    now = f"half in {milliseconds(half)}, 99 in 100 in {milliseconds(most)}"
    return Check("good", "Answers", said, now, term)


def _lag(seconds: float, time_scale: float) -> Check:
    slow = seconds / time_scale > SLOW_LAG
    said = "The policies have read everything, or will in a moment."
    if slow:
        said = "The policies are behind the log: decisions are made on what was known then."
    term = "How far the states of the campaigns are behind the log."
    return Check("open" if slow else "good", "Learning", said, span(seconds) + " behind", term)


def _clock(seconds: float) -> Check:
    apart = abs(seconds) >= 1.0
    said = "Log time and the machine’s clock agree."
    if apart:
        said = "The machine’s clock has stepped, and log time does not follow it: check the clock."
    term = "Log time never goes back, and follows a step of the clock only when it has held."
    return Check("open" if apart else "good", "Clock", said, span(abs(seconds)) + " apart", term)
