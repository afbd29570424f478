"""The page of all campaigns: one row each, what needs somebody first."""

from __future__ import annotations

from functools import partial
from typing import Any

from foretell import protocol
from foretell.errors import ForetellError
from foretell.pages import render
from foretell.service.engine.turns import in_thread
from foretell.service.http.responses import Response
from foretell.service.log.errors import LogClosed
from foretell.service.ui.answers import best_actions, fleet_answer
from foretell.service.ui.formats import count, interval
from foretell.service.ui.statuses import needs_somebody, shown, urgency
from foretell.service.ui.tables import Cell, Numbers
from foretell.service.ui.visit import Visit

SPARKS = 30
"""Periods that the small picture of a campaign's traffic shows."""


async def fleet_page(visit: Visit) -> Response:
    """Show every campaign that the key is for."""
    may_make = visit.may_change and visit.may_see_all

    async def make() -> str:
        rows = [await _row(visit, view) for view in _views(visit)]
        rows.sort(key=lambda row: (urgency(row["status"]), row["name"]))
        urgent = [row["name"] for row in rows if needs_somebody(row["status"])]
        answer = fleet_answer([(row["name"], row["status"]) for row in rows])
        shown_rows = {"rows": rows, "urgent": urgent, "answer": answer, "may_make": may_make}
        return await in_thread(partial(render, "fleet.html", **shown_rows))

    own = None if visit.caller is None else visit.caller.campaign
    return await visit.kept_page("Campaigns", ("fleet", own, may_make), make, "campaigns")


def _views(visit: Visit) -> list[protocol.CampaignView]:
    return [view for view in visit.engine.campaigns() if visit.may_use(view.name)]


async def _row(visit: Visit, view: protocol.CampaignView) -> dict[str, Any]:
    """Return what the row of a campaign shows; one that cannot be read says why."""
    try:
        report = await visit.engine.report(view.name)
        series = await visit.engine.timeseries(view.name)
    except LogClosed:
        raise  # nothing is wrong with the campaign
    except ForetellError as error:
        return {
            "name": view.name,
            "status": "damaged",
            "shown": shown("damaged"),
            "sentence": str(error),
            "report": None,
        }
    rated = best_actions(report)
    names = [one.action for one in report.actions]
    return {
        "name": view.name,
        "status": report.status,
        "shown": shown(report.status),
        "sentence": report.sentence,
        "report": report,
        "holdout": view.holdout,
        "spark": [0] * (SPARKS - len(series.at)) + series.total.decisions[-SPARKS:],
        "pace": _pace(series),
        "best": rated[0] if rated else None,
        "best_index": names.index(rated[0].action) if rated else 0,
        "uplift_interval": interval(report.uplift),
        "uplift_note": _uplift_note(report),
        "lamps": _lamps(report),
    }


def _uplift_note(report: protocol.CampaignReport) -> str:
    """Return how sure the uplift is; numbers that are known to be wrong are sure of nothing."""
    found = report.uplift
    if found is None:
        return ""
    if report.status == "rewards stopped":
        return "too low: rewards have stopped"
    if found.low > 0.0:
        return "sure"
    return "the holdout earns more" if found.high < 0.0 else "may be chance"


def _pace(series: protocol.Timeseries) -> str:
    """Return the decisions a day, over the periods that are over; of less than a day, all."""
    counts = series.total.decisions[:-1]
    days = len(counts) * series.width / 86_400
    if days < 1.0:
        return f"{count(sum(series.total.decisions))} so far"
    return f"{count(sum(counts) / days)} a day"


def _lamps(report: protocol.CampaignReport) -> list[tuple[str, str, str | None]]:
    """Return for decisions, signals and rewards whether they come, and when the last did."""
    fresh, status = report.freshness, report.status
    lamps = []
    for what, at in (
        ("decision", fresh.decision_at),
        ("signal", fresh.signal_at),
        ("reward", fresh.reward_at),
    ):
        stopped = status == {"decision": "traffic"}.get(what, what + "s") + " stopped"
        lamps.append(("bad" if stopped else "good" if at else "open", what, at))
    return lamps


async def fleet_csv(visit: Visit) -> Response:
    """Send the rows of the page as CSV."""
    rows: list[list[Cell]] = []
    for view in _views(visit):
        try:
            report = await visit.engine.report(view.name)
        except ForetellError as error:
            rows.append([view.name, "damaged", str(error), *[None] * 9])
            continue
        rated, uplift = best_actions(report), report.uplift
        ends = [None] * 3 if uplift is None else [uplift.mean, uplift.low, uplift.high]
        best = [None, None] if not rated else [rated[0].action, rated[0].best]
        fresh = report.freshness
        rows.append(
            [
                *(view.name, report.status, report.sentence, report.counts.decisions),
                *best,
                *ends,
                *(fresh.decision_at, fresh.signal_at, fresh.reward_at),
            ]
        )
    columns = ["campaign", "status", "sentence", "decisions", "best_action", "best"]
    columns += ["uplift", "uplift_low", "uplift_high"]
    columns += ["last_decision", "last_signal", "last_reward"]
    return csv_response(Numbers("fleet", "Campaigns", columns, rows))


def csv_response(numbers: Numbers) -> Response:
    """Return a table as a file to keep."""
    disposition = f'attachment; filename="{numbers.name}.csv"'
    headers = (
        (b"content-disposition", disposition.encode()),
        (b"x-content-type-options", b"nosniff"),
    )
    return Response(200, numbers.csv(), headers, b"text/csv; charset=utf-8")
