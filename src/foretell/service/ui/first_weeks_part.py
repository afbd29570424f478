"""The first weeks of a campaign that is about to be made, by simulation, as a part of its page."""

from __future__ import annotations

import asyncio

from foretell import protocol
from foretell.pages import render
from foretell.service.http.responses import Response
from foretell.service.model.config import new_config
from foretell.service.model.errors import Overloaded, Unusable
from foretell.service.model.live_policies import spec_in_place
from foretell.service.reports.words import percent, span
from foretell.service.ui.forms import as_body, campaign_fields, decisions_a_day
from foretell.service.ui.tables import Cell, Numbers
from foretell.service.ui.visit import HTML, PAGE_HEADERS, Visit
from foretell.sim.first_weeks import WORLDS, FirstWeeks, first_weeks

REWARD_WINDOWS = 2.0
"""The time that is shown, in reward windows: one without rewards that count, and one with them."""
MOST_CELLS = 1000
"""Actions times signals that are simulated at most: more would take minutes of a core."""
_simulating = asyncio.Semaphore(1)
"""One at a time: it takes some seconds of a core."""


async def first_weeks_part(visit: Visit) -> Response:
    """Simulate the campaign that a form describes, and show what it earns against an even split."""
    body = as_body(protocol.NewCampaign, campaign_fields(visit.query))
    config = new_config(body, 0)
    seconds = REWARD_WINDOWS * body.reward_window
    decisions = max(1, round(decisions_a_day(visit.query) * seconds / 86_400))
    spec = spec_in_place(config, body.policy)
    if len(body.actions) * len(config.signals) > MOST_CELLS:
        raise Unusable(
            f"{len(body.actions):,} actions with {len(config.signals):,} signals are too many to "
            f"be imagined in some seconds: go on without the imagined weeks"
        )
    if _simulating.locked():
        raise Overloaded("another simulation is running: try again in some seconds")
    async with _simulating:
        found = await asyncio.to_thread(
            first_weeks,
            spec,
            len(body.actions),
            len(config.signals),
            decisions,
            1.0 / REWARD_WINDOWS,
        )
    text = render("first_weeks.html", **_context(body, found, decisions, seconds))
    return Response(200, text.encode(), PAGE_HEADERS, HTML)


def _context(
    body: protocol.NewCampaign, found: FirstWeeks, decisions: int, seconds: float
) -> dict[str, object]:
    half = len(found.until) // 2
    early, late = found.middle[half - 1], found.middle[-1]
    ages = [share * seconds for share in found.until]
    columns = (ages, found.low, found.middle, found.high)
    rows: list[list[Cell]] = [list(row) for row in zip(*columns, strict=True)]
    table = Numbers("first-weeks", "First weeks", ["seconds", "low", "middle", "high"], rows)
    return {
        "answer": (
            f"Imagined campaigns like yours earn about {percent(early)} more than an even split "
            f"when the first rewards count, after {span(body.reward_window)}, and about "
            f"{percent(late)} more after {span(seconds)}."
        ),
        "chart": {
            "kind": "weeks",
            "curves": [ages],
            "low": found.low,
            "middle": found.middle,
            "high": found.high,
            "window": body.reward_window,
        },
        "table": table,
        "csv": table.csv().decode(),
        "simulated": found.decisions,
        "decisions": decisions,
        "worlds": WORLDS,
        "actions": len(body.actions),
    }
