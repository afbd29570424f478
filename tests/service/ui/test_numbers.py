"""The numbers that the dashboard shows are those of the API, in every panel and every CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from foretell.service.log.clock import SECOND, ToldClock
from foretell.service.log.memory import MemoryLog
from foretell.service.ui.campaign_page import PageReports
from foretell.service.ui.formats import FILTERS
from tests.service.ui.dashboard import CAMPAIGN, Dashboard, fill, wait_until, words

DAY = 86_400 * SECOND
reward, count = FILTERS["reward"], FILTERS["count"]
Found = dict[str, Any]


@pytest.fixture
def settled() -> Iterator[Dashboard]:
    """Return a dashboard whose clock stands, when all windows of a campaign have closed."""
    clock = ToldClock(1.0)
    clock.time -= 30 * DAY
    with start_blocking_portal() as portal:
        opened = Dashboard(portal, MemoryLog(clock))
        opened.api("POST", "/campaigns", CAMPAIGN | {"holdout": 0.3})
        portal.call(fill, opened.engine)
        clock.time += 8 * DAY
        portal.call(opened.engine.settled)
        opened.sign_in()
        yield opened
        opened.close()


def ends(found: Found | None) -> list[Any]:
    return [None] * 3 if found is None else [found["mean"], found["low"], found["high"]]


def action_rows(found: Found) -> list[list[Any]]:
    return [
        [
            *(one["action"], one["status"], one["decisions"], one["share"]),
            *(one["recent_share"], *ends(one["observed"]), one["observed"]["n"]),
            *(*ends(one["value"]), one["best"]),
        ]
        for one in found["report"]["actions"]
    ]


def traffic_rows(found: Found) -> list[list[Any]]:
    series = found["timeseries"]
    lines = [series["total"], *series["actions"]]
    return [[at, *(one["decisions"][n] for one in lines)] for n, at in enumerate(series["at"])]


def signal_rows(found: Found) -> list[list[Any]]:
    signals = found["signals"]
    names = [one["signal"] for one in signals["signals"]]
    return [
        [
            *(at, one["action"], int(signals["mature"][n]), one["counts"][n]),
            *(one["by_period"][name][n] for name in names),
        ]
        for n, at in enumerate(signals["at"])
        for one in signals["actions"]
    ]


def validity_rows(found: Found) -> list[list[Any]]:
    return [
        [one["action"], one["signal"], *ends(one), one["n"]] for one in found["validity"]["cells"]
    ]


def delay_rows(found: Found) -> list[list[Any]]:
    delays = found["delays"]
    return [
        [one["signal"] or "any", age, share]
        for one in (delays["all_rewards"], *delays["rewards"])
        for age, share in zip(one["ages"], one["shares"], strict=True)
    ]


def uplift_rows(found: Found) -> list[list[Any]]:
    series = found["timeseries"]
    columns = (series["at"], series["mature"]["rewards"], series["uplift"])
    return [[at, int(known), *ends(one)] for at, known, one in zip(*columns, strict=True)]


def policy_rows(found: Found) -> list[list[Any]]:
    return [
        [
            *(one["policy"], one["as_of"], one["result"]["counted"]),
            one["result"]["value"]["effective_decisions"],
            one["result"]["earned"]["mean"],
            *ends(one["result"]["value"]["doubly_robust"]),
            *ends(one["result"]["value"]["gain"]),
        ]
        for one in found["evaluations"]["evaluations"]
    ]


def pending_rows(found: Found) -> list[list[Any]]:
    return [list(one) for one in found["report"]["counts"].items()]


def open_rows(found: Found) -> list[list[Any]]:
    counts = found["report"]["counts"]
    assert not counts["open_rewards"], "all windows have closed"
    (row,) = found["sent"]  # when that was is said to the second by tests of the report
    assert row[0] == ""
    return [["", row[1], counts["decisions"] - counts["voided"], counts["decisions"], 0]]


TABLES = {
    "actions": action_rows,
    "traffic": traffic_rows,
    "signals": signal_rows,
    "validity": validity_rows,
    "delays": delay_rows,
    "uplift": uplift_rows,
    "policies": policy_rows,
    "pending": pending_rows,
    "open": open_rows,
}
"""What the API says, as the rows of the table behind each panel."""


def test_a_campaign_page_says_the_sentences_and_numbers_of_the_api(settled: Dashboard) -> None:
    shown = words(settled.get("/ui/campaigns/hero").text)
    report = settled.api("GET", "/campaigns/hero/report")
    assert report["sentence"] in shown
    assert settled.api("GET", "/campaigns/hero/validity")["sentence"] in shown
    assert settled.api("GET", "/campaigns/hero/delays")["sentence"] in shown
    assert settled.api("GET", "/campaigns/hero/changes")["sentence"] in shown
    for action in report["actions"]:
        assert f"n = {count(action['observed']['n'])}" in shown
        for found in (action["observed"], action["value"]):
            assert reward(found["mean"]) in shown
            assert f"[{reward(found['low'])}, {reward(found['high'])}]" in shown
    assert FILTERS["signed"](report["uplift"]["mean"]) in shown


def test_every_table_and_its_csv_hold_every_digit_of_the_api(settled: Dashboard) -> None:
    """The numbers behind each panel, and the CSV that the page links to."""
    settled.api("POST", "/campaigns/hero/evaluations", {"policy": "ts"})
    path = "/campaigns/hero"
    wait_until(lambda: settled.api("GET", f"{path}/evaluations")["evaluations"][0].get("result"))
    page = settled.get(f"/ui{path}").text
    width = settled.portal.call(PageReports.read, settled.engine, "hero").series.width
    found = {
        name: settled.api("GET", f"{path}/{name}{f'?width={width:.0f}' if periods else ''}")
        for name, periods in (
            *(("report", False), ("validity", False), ("delays", False), ("evaluations", False)),
            *(("timeseries", True), ("signals", True)),
        )
    }
    tables = set(re.findall(rf'href="/ui{path}/([a-z]+)\.csv"', page))
    assert tables == TABLES.keys()
    for table, expected_rows in TABLES.items():
        answer = settled.get(f"/ui{path}/{table}.csv")
        assert answer.headers["content-type"].startswith("text/csv")
        rows = list(csv.reader(io.StringIO(answer.text)))[1:]
        expected = expected_rows(found | {"sent": rows})
        assert expected, table
        assert rows == [["" if cell is None else str(cell) for cell in row] for row in expected]
    assert settled.get(f"/ui{path}/secrets.csv").status_code == 404


def test_every_panel_shows_the_numbers_of_the_api(settled: Dashboard) -> None:
    shown = words(settled.get("/ui/campaigns/hero").text)
    report = settled.api("GET", "/campaigns/hero/report")
    validity = settled.api("GET", "/campaigns/hero/validity")
    for cell in validity["cells"]:
        ends_shown = f"[{reward(cell['low'])}, {reward(cell['high'])}]"
        assert f"{reward(cell['mean'])} {ends_shown} n = {count(cell['n'])}" in shown
    assert FILTERS["evidence"](validity["e_value"]) in shown
    for mode in report["modes"]:
        numbers = f"{reward(mode['mean'])} [{reward(mode['low'])}, {reward(mode['high'])}]"
        assert f"{mode['mode']} {count(mode['n'])} {numbers}" in shown
    counts = report["counts"]
    for name, label in (("late", "Late"), ("duplicates", "Duplicate"), ("voided", "Void")):
        assert f"{label} {count(counts[name])} " in shown
    assert f"{count(counts['decisions'])} decisions" in shown
    decided = settled.api("GET", "/campaigns/hero/events?type=decision&limit=1000")["events"][-1]
    assert f"{decided['body']['action']} {decided['body']['mode']}" in shown


def test_the_fleet_shows_the_numbers_of_the_api(settled: Dashboard) -> None:
    shown, report = words(settled.get("/ui").text), settled.api("GET", "/campaigns/hero/report")
    uplift, best = report["uplift"], max(report["actions"], key=lambda one: one["best"])
    assert report["sentence"] in shown
    assert f"{best['action']} {FILTERS['chance'](best['best'])}" in shown
    interval_shown = f"[{reward(uplift['low'])}, {reward(uplift['high'])}]"
    assert f"{FILTERS['signed'](uplift['mean'])} {interval_shown}" in shown
    (row,) = csv.DictReader(io.StringIO(settled.get("/ui/fleet.csv").text))
    assert (row["campaign"], row["status"]) == ("hero", report["status"])
    assert row["uplift"] == str(uplift["mean"])
    assert row["last_reward"] == report["freshness"]["reward_at"]
