"""Pages: they show the numbers of the API, refuse what it refuses, and say what they will do."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from anyio.from_thread import start_blocking_portal

from foretell import protocol
from foretell.service.log.clock import Clock
from foretell.service.log.memory import MemoryLog
from foretell.service.reports.validity import validity_report
from foretell.service.ui import campaign_page
from foretell.service.ui.answers import signal_value_answer
from foretell.service.ui.formats import FILTERS
from tests.service.ui.dashboard import CAMPAIGN, Dashboard, wait_until, words

reward = FILTERS["reward"]


def test_an_open_page_gets_what_a_new_one_shows_and_nothing_secret(served: Dashboard) -> None:
    for path in ("/ui", "/ui/campaigns/hero", "/ui/operations"):
        page = served.get(path).text
        parts = served.client.get(path, headers={"X-Refresh": "1"})
        assert parts.headers["content-encoding"] == "gzip"
        assert 0.0 < float(parts.headers["x-read-again"]) < 60.0
        assert served.token("/ui") not in parts.text
        main = page.partition('<main id="main">')[2].partition("</main>")[0].strip()
        assert main in parts.text
        assert '<div id="banners" data-live>' in parts.text
    served.client.cookies.clear()
    signed_out = served.client.get("/ui", headers={"X-Refresh": "1"})
    assert signed_out.headers["location"].startswith("/ui/sign-in")


def test_the_page_of_a_decision_says_what_happened(served: Dashboard) -> None:
    decided = served.api("POST", "/campaigns/hero/decisions", {})
    path = f"/decisions/{decided['decision_id']}"
    served.api("POST", f"{path}/signal", {"signal": "click", "event_id": "c-1"})
    shown = words(served.get(f"/ui{path}").text)
    assert f"{decided['action']} was chosen" in shown
    assert "Signal: click" in shown
    assert "Event c-1" in shown
    assert reward(decided["propensity"]) in shown
    assert served.get("/ui/decisions/unknown").status_code == 404


def test_every_change_says_what_it_does_and_is_done_by_whoever_is_signed_in(
    served: Dashboard,
) -> None:
    path = "/ui/campaigns/hero"
    for change, status in (("pause", "paused"), ("start", "running")):
        assert "From now on" in served.get(f"{path}/change/{change}").text
        assert served.post(f"{path}/change/{change}").status_code == 303
        assert served.api("GET", "/campaigns/hero")["status"] == status
    assert "can be chosen at once" in served.get(f"{path}/new-action").text
    assert served.post(f"{path}/new-action", action="c").status_code == 303
    assert [one["action"] for one in served.api("GET", "/campaigns/hero")["actions"]] == [*"abc"]
    taken = served.post(f"{path}/new-action", action="c")
    refused = served.api("POST", "/campaigns/hero/actions", {"action": "c"})
    assert taken.status_code == refused["status"]
    assert refused["detail"] in words(taken.text)
    assert "reads the whole log" in served.get(f"{path}/policy").text
    assert served.post(f"{path}/policy", policy="ucb").status_code == 303
    wait_until(lambda: served.api("GET", "/campaigns/hero").get("refit") is None)
    assert served.api("GET", "/campaigns/hero")["policy"] == "ucb"
    shown = words(served.get(path).text)
    assert "The last change was on" in shown
    for record in served.api("GET", "/campaigns/hero/events?type=changed")["events"]:
        assert record["body"]["by"]["name"] == "first"
        assert record["body"]["sentence"] in shown


def test_a_refit_is_shown_as_the_campaign_says_it(served: Dashboard) -> None:
    active = served.engine.runtime.by_name["hero"]
    active.refitting, active.refit_share = True, 0.4
    refit = served.api("GET", "/campaigns/hero")["refit"]
    page = served.get("/ui/campaigns/hero").text
    lead = page.partition('id="lead"')[2].partition('id="keys"')[0]
    assert words(lead).count(FILTERS["percent"](refit["progress"])) == 2, "words and bar, no more"
    assert '<progress aria-label="Part of the log that the new policy has read"' in page
    active.refitting, active.refit_failure = False, "the log was closed"
    served.post("/ui/campaigns/hero/change/pause")  # else the page is shown that was just made
    shown = words(served.get("/ui/campaigns/hero").text)
    assert "The last change was not made. The log was closed." in shown


def test_another_policy_is_tried_on_the_log(served: Dashboard) -> None:
    path = "/ui/campaigns/hero/evaluation"
    assert "Nothing is changed" in served.get(path).text
    wrong = served.post(path, policy="nonsense")
    refused = served.api("POST", "/campaigns/hero/evaluations", {"policy": "nonsense"})
    assert refused["detail"] in words(wrong.text)
    assert served.post(path, policy="ts").headers["location"].endswith("#policies")
    evaluations = served.api("GET", "/campaigns/hero/evaluations")["evaluations"]
    assert [one["policy"].partition("(")[0] for one in evaluations] == ["ts"]


def test_whether_the_signal_is_worth_it_is_said_either_way(served: Dashboard) -> None:
    def value(mean: float) -> protocol.PolicyValue:
        ends = protocol.Interval(mean, mean - 0.01, mean + 0.01)
        return protocol.PolicyValue(ends, ends, ends, ends, 100.0)

    view = served.engine.campaign("hero")
    for using, waiting, said in ((0.5, 0.3, "Yes: "), (0.3, 0.5, "No: "), (0.3, 0.305, "Not sure")):
        earned = protocol.Interval(0.3, 0.2, 0.4)
        found = protocol.EvaluationResult(9, 0, 9, 9, earned, value(using), value(waiting), "")
        assert signal_value_answer(view, found).startswith(said)
    assert signal_value_answer(view, None, asked=True).startswith("Being found out")


def test_while_the_log_is_closed_every_page_says_so_and_shows_what_was_known(
    served: Dashboard,
) -> None:
    served.log.closed = "the disk is full"
    for path in ("/ui", "/ui/campaigns/hero", "/ui/operations", "/ui/new-campaign"):
        answer = served.get(path)
        assert answer.status_code == 200
        assert "The log is closed. Nothing is decided" in words(answer.text)
        assert "the disk is full" in answer.text
    refused = served.client.post(
        "/ui/campaigns/hero/change/pause", data={"token": served.token("/ui")}
    )
    assert refused.status_code == 503
    assert "the disk is full" in refused.text
    served.log.closed = None
    assert "The log is closed" not in served.get("/ui/operations").text


def test_while_nothing_can_be_read_a_page_tries_again_and_operations_is_shown(
    served: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = "the database does not answer"
    monkeypatch.setattr(MemoryLog, "outdated", property(lambda _log: away))
    for path in ("/ui", "/ui/campaigns/hero"):
        answer = served.get(path)
        assert answer.status_code == 503
        assert "/ui/static/retry.js" in answer.text
        assert '<noscript><meta http-equiv="refresh"' in answer.text
        assert "this page opens by itself" in words(answer.text)
        assert "The log is closed" in words(answer.text)
        assert "What is shown" not in words(answer.text)
        assert 'id="live"' not in answer.text
    for headers in ({}, {"X-Refresh": "1"}):
        operations = served.client.get("/ui/operations", headers=headers)
        assert operations.status_code == 200
        assert away in operations.text
        assert "The keys cannot be listed" in words(operations.text)
        assert "What is shown is what was known before" in words(operations.text)
    refused = served.client.post(
        "/ui/campaigns/hero/change/pause", data={"token": served.token("/ui/operations")}
    )
    assert refused.status_code == 503
    assert "retry.js" not in refused.text, "a form is not sent again"
    monkeypatch.undo()
    assert "Who may do what?" in words(served.get("/ui/operations").text)
    assert served.get("/ui").status_code == 200


def test_a_page_with_a_form_notices_that_the_server_is_away(served: Dashboard) -> None:
    for path in ("/ui/new-campaign", "/ui/campaigns/hero/new-action"):
        page = served.get(path)
        assert "/ui/static/forms.js" in page.text
        assert "What you typed is kept on this page" in words(page.text)
    assert "forms.js" not in served.get("/ui").text
    assert served.get("/ui/static/forms.js").status_code == 200
    assert served.get("/ui/static/retry.js").status_code == 200


def test_a_test_database_says_so_on_every_page() -> None:
    with start_blocking_portal() as portal:
        fast = Dashboard(portal, MemoryLog(Clock(scale=250.0)))
        fast.api("POST", "/campaigns", CAMPAIGN)
        fast.sign_in()
        for path in ("/ui", "/ui/campaigns/hero", "/ui/operations", "/ui/new-campaign"):
            said = "Test clock. This database runs 250 times as fast as real time"
            assert said in words(fast.get(path).text)
        fast.close()


def test_a_clock_that_differs_is_said_on_every_page(
    served: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "The clock differs" not in served.get("/ui").text
    monkeypatch.setattr(
        served.engine, "health", lambda: protocol.Health("ok", clock_ahead_seconds=90.0)
    )
    assert "clock is 90 seconds ahead of the log's time" in words(served.get("/ui").text)


def test_a_page_that_does_not_exist_is_a_page(served: Dashboard) -> None:
    nowhere = served.get("/ui/nowhere/at-all")
    assert nowhere.status_code == 404
    assert "There is no such page" in words(nowhere.text)
    assert served.get("/ui/").headers["location"] == "/ui"
    assert served.get("/ui/decisions?id=").headers["location"] == "/ui"
    answer = served.get("/ui/campaigns/heroo")
    assert answer.status_code == 404
    assert "did you mean 'hero'?" in words(answer.text)


@pytest.mark.parametrize("detectable", [None, 0.1])
def test_no_cost_stands_beside_a_signal_that_could_not_be_refuted(
    served: Dashboard, monkeypatch: pytest.MonkeyPatch, detectable: float | None
) -> None:
    def found(copy: Any) -> protocol.ValidityReport:
        known = {"verdict": "valid", "cost": 0.0, "detectable": detectable}
        return msgspec.structs.replace(validity_report(copy), **known)

    monkeypatch.setattr("foretell.service.engine.queries.validity_report", found)
    shown = words(served.get("/ui/campaigns/hero").text)
    assert ("Nothing found yet" in shown) == (detectable is None)
    assert ("Cost of trusting" in shown) == (detectable is not None)


def test_what_is_not_found_leads_back_to_where_the_reader_came_from(served: Dashboard) -> None:
    came = {"referer": "http://testserver/ui/campaigns/hero"}
    missed = served.client.get("/ui/decisions/abc", headers=came)
    assert missed.status_code == 404
    assert '<a class="button main" href="/ui/campaigns/hero">Back</a>' in missed.text
    assert "copy the whole id" in words(missed.text)
    for elsewhere in ("http://elsewhere/ui/campaigns/hero", "http://testserver/docs", ""):
        other = served.client.get("/ui/decisions/abc", headers={"referer": elsewhere})
        assert ">Back</a>" not in other.text


def test_an_action_that_was_added_and_the_last_change_of_many_are_said(
    served: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_page, "LATEST_CHANGES", 3)
    for name in ("c", "d", "e", "f"):
        served.post("/ui/campaigns/hero/new-action", action=name)
    shown = words(served.get("/ui/campaigns/hero").text)
    last = "The last change was on [^:]+[0-9:]+: Key first added the action f[.]"
    assert re.search(last, shown)
    assert "added the action d." in shown
    assert "added the action c." not in shown, "the newest are shown"


def test_a_part_of_a_history_is_no_change(served: Dashboard) -> None:
    rows = [{"action": "a", "signal": "click", "reward": 1.0}]
    part = {"id": "old", "part": 1, "rows": rows, "last": False}
    sent = served.api("POST", "/campaigns/hero/history", part)
    assert sent["status"] == "receiving"
    shown = words(served.get("/ui/campaigns/hero").text)
    assert "Nobody has changed anything" in shown
    assert "Imported." not in shown


def test_the_pace_of_a_campaign_is_not_told_before_a_day_of_it_is_over(served: Dashboard) -> None:
    shown = words(served.get("/ui").text)
    assert "80 so far" in shown
    assert "a day" not in shown
