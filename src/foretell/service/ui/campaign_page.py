"""The page of one campaign: every panel, its sentence first, the numbers after it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from foretell import protocol
from foretell.pages import render
from foretell.service.engine import Engine
from foretell.service.engine.queries import AllReports
from foretell.service.engine.turns import in_thread
from foretell.service.http.responses import Response
from foretell.service.log.errors import LogClosed
from foretell.service.model.errors import NotFound
from foretell.service.model.live_policies import campaign_spec
from foretell.service.reports.words import span
from foretell.service.ui import answers, charts, tables
from foretell.service.ui.fleet_page import csv_response
from foretell.service.ui.statuses import shown, shown_verdict
from foretell.service.ui.tables import Numbers, shown_cell
from foretell.service.ui.visit import Visit

TABLE_ROWS, TABLE_COLUMNS = 14, 9
"""Of the numbers behind a chart, the page shows so many; the CSV has all of them."""
PERIODS = 40
"""Into so many periods the life of a campaign is divided, at most twice as many are drawn."""
LATEST_DECISIONS = 8
LATEST_CHANGES = 30


@dataclass
class PageReports(AllReports):
    """All that the page of a campaign is made of: what the API answers."""

    view: protocol.CampaignView
    evaluations: protocol.EvaluationList
    policy: str
    """The policy that runs, with all its settings."""

    @classmethod
    async def read(cls, engine: Engine, name: str) -> PageReports:
        """Ask the engine for all of them, as of one moment."""
        found = await engine.all_reports(name, PERIODS)
        policy = str(campaign_spec(engine.runtime.look_up(name).config))
        view, evaluations = engine.campaign(name), engine.evaluations(name)
        return cls(**vars(found), view=view, evaluations=evaluations, policy=policy)

    def numbers(self, periods: int | None = None) -> dict[str, Numbers]:
        """Return the numbers behind each picture, by the name of their CSV.

        Those of signals, a row for each action, may be of the last so many periods alone.
        """
        found = (
            tables.action_numbers(self.report),
            tables.traffic_numbers(self.series),
            tables.signal_numbers(self.signals, periods),
            tables.validity_numbers(self.validity),
            tables.delay_numbers(self.delays),
            tables.open_numbers(self.made),
            tables.pending_numbers(self.report),
            tables.uplift_numbers(self.series),
            tables.evaluation_numbers(self.evaluations),
        )
        return {one.name: one for one in found}


async def campaign_page(visit: Visit) -> Response:
    """Show one campaign."""
    name = visit.params["campaign"]

    async def make() -> str:
        found = await PageReports.read(visit.engine, name)
        recent = await _latest_decisions(visit.engine, name)
        history = await _history(visit.engine, name)

        def write() -> str:
            more = {
                "latest": recent,
                "history": [(one.recorded_at, answers.change_sentence(one)) for one in history],
                "history_answer": answers.history_answer(history, found.report.log.as_of),
                "may": visit.may_change,
            }
            return render("campaign.html", **_context(found), **more)

        return await in_thread(write)

    return await visit.kept_page(name, ("campaign", name, visit.may_change), make, "campaigns")


async def campaign_csv(visit: Visit) -> Response:
    """Send the numbers behind one picture."""
    found = await PageReports.read(visit.engine, visit.params["campaign"])
    numbers, name = found.numbers(), visit.params["table"]
    if name not in numbers:
        raise NotFound(f"there is no table {name!r}: there are {', '.join(sorted(numbers))}")
    return csv_response(numbers[name])


def _context(found: PageReports) -> dict[str, Any]:
    """Return what the template shows."""
    report, view = found.report, found.view
    index = {one.action: number for number, one in enumerate(report.actions)}
    ranked = sorted(report.actions, key=_rank)
    rated = answers.best_actions(report)
    trends = charts.action_trends(found.signals, found.validity)
    using = _signal_value(found)
    return vars(found) | {
        "now": report.log.as_of,
        "index": index,
        "ranked": ranked,
        "rated": rated,
        "trends": trends,
        "scale": _scale(report, trends),
        "state": shown(report.status),
        "verdict": shown_verdict(found.validity),
        "word": view.reward_name or "rewards",
        "actions_answer": answers.actions_answer(report),
        "traffic_answer": answers.traffic_answer(report),
        "pending_answer": answers.pending_answer(report),
        "uplift_answer": answers.uplift_answer(report, view),
        "policies_answer": answers.policies_answer(found.evaluations),
        "using": using,
        "signal_value_answer": answers.signal_value_answer(view, using, asked=_is_asked(found)),
        "cells": _cells(found.validity),
        "shown_signals": [one for one in view.signals if one != "none"] or view.signals,
        "period": span(found.series.width),
        "traffic_chart": charts.traffic_chart(found.series, found.changes),
        "signal_charts": charts.signal_charts(
            found.signals, found.changes, [one.action for one in ranked]
        ),
        "delay_chart": charts.delay_chart(found.delays),
        "uplift_chart": charts.uplift_chart(found.series),
        "numbers": {
            name: one.latest(TABLE_ROWS, TABLE_COLUMNS)
            for name, one in found.numbers(TABLE_ROWS).items()
        },
        "cell": shown_cell,
    }


def _rank(action: protocol.ActionReport) -> tuple[bool, int]:
    """Return the place of an action, by the chance that is shown of it.

    Those with the same stay in the order of the campaign, and do not swap from look to look.
    """
    likely = action.best or 0.0
    return action.status == "retired", -round(100 * likely) if likely >= 0.01 else 0


def _scale(
    report: protocol.CampaignReport, trends: dict[str, list[float | None]]
) -> tuple[float, float] | None:
    """Return the ends of the axis that all pictures of the actions share; None without any."""
    ends = [0.0, *(one for points in trends.values() for one in points if one is not None)]
    for one in report.actions:
        for found in (one.observed, one.value):
            if found is not None:
                ends += [found.low, found.high]
    if len(ends) == 1:
        return None
    low, high = min(ends), max(ends)
    return low, high if high > low else low + 1.0


def _cells(validity: protocol.ValidityReport) -> dict[tuple[str, str], protocol.ValidityCell]:
    return {(one.action, one.signal): one for one in validity.cells}


def _signal_value(found: PageReports) -> protocol.EvaluationResult | None:
    """Return the latest evaluation of the policy that runs: with and without signals."""
    done = [
        one.result
        for one in found.evaluations.evaluations
        if one.result is not None and one.policy == found.policy
    ]
    return done[-1] if done else None


def _is_asked(found: PageReports) -> bool:
    """Return whether the policy that runs is being evaluated."""
    tried = found.evaluations.evaluations
    return any(one.status == "running" and one.policy == found.policy for one in tried)


async def _latest_decisions(engine: Engine, name: str) -> list[protocol.RecordView]:
    """Return the last decisions; none while the log is closed: the rest is shown then."""
    with suppress(LogClosed):
        return await engine.latest_decisions(name, LATEST_DECISIONS)
    return []


async def _history(engine: Engine, name: str) -> list[protocol.RecordView]:
    """Return who changed what, the newest first; nothing while the log is closed."""
    with suppress(LogClosed):
        return await engine.latest_changes(name, LATEST_CHANGES)
    return []
