"""A key for one campaign: nothing of another is read, written or listed with it."""

from __future__ import annotations

import time
from typing import Any, get_args

import pytest

from foretell import protocol
from foretell.service.http.operation import Operation
from foretell.service.http.routes import OPERATIONS
from tests.service.http.conftest import CAMPAIGN, Served, check_problem, send
from tests.service.http.fake_engine import FakeEngine

KEYED = [one for one in OPERATIONS if one.scope is not None]
OF_A_CAMPAIGN = {one.name for one in KEYED if "{campaign}" in one.path or "{decision}" in one.path}
OF_EACH = {"list_campaigns", "batch"}


def key_for(served: Served, campaign: str) -> str:
    """Make a key that may do everything, with one campaign."""
    scopes = list(get_args(protocol.Scope))
    body = {"name": campaign, "scopes": scopes, "campaign": campaign}
    made = served.call("POST", "/v1/keys", json=body)
    assert made.status_code == 201, made.text
    assert made.json()["campaign"] == campaign
    return str(made.json()["key"])


def other_campaign(served: Served) -> None:
    assert served.call("POST", "/v1/campaigns", json=CAMPAIGN | {"name": "other"}).is_success


def ask(served: Served, key: str, method: str, path: str, **more: Any) -> Any:
    return served.client.request(method, path, headers={"Authorization": f"Bearer {key}"}, **more)


@pytest.mark.parametrize("operation", KEYED, ids=lambda one: one.name)
def test_each_operation_is_for_the_campaign_of_the_key_alone(
    broken: Served, operation: Operation
) -> None:
    other_campaign(broken)
    decision = broken.decision()
    assert {one.name for one in KEYED if one.each_campaign} == OF_EACH
    for campaign, allowed in (("hero", OF_A_CAMPAIGN | OF_EACH), ("other", OF_EACH)):
        headers = {"Authorization": f"Bearer {key_for(broken, campaign)}"}
        answer = send(broken, operation, headers, decision)
        if operation.name in allowed:
            assert answer.status_code < 500, answer.text
            assert answer.status_code not in {401, 403}, answer.text
        else:
            check_problem(answer, 403, "forbidden")
            assert f"the key is for the campaign '{campaign}' alone" in answer.json()["detail"]


def test_a_key_for_one_campaign_finds_nothing_of_another(served: Served) -> None:
    decision = served.decision()
    other_campaign(served)
    key = key_for(served, "other")
    listed = ask(served, key, "GET", "/v1/campaigns").json()["campaigns"]
    assert [one["name"] for one in listed] == ["other"]
    assert len(served.call("GET", "/v1/campaigns").json()["campaigns"]) == 2
    own = ask(served, key, "POST", "/v1/campaigns/other/decisions").json()["decision_id"]
    for path, body in (
        ("signal", {"signal": "click"}),
        ("reward", {"value": 1.0}),
        ("void", {}),
    ):
        refused = ask(served, key, "POST", f"/v1/decisions/{decision}/{path}", json=body)
        check_problem(refused, 403, "forbidden")
    check_problem(ask(served, key, "GET", f"/v1/decisions/{decision}"), 403, "forbidden")
    check_problem(ask(served, key, "GET", "/v1/decisions/forged"), 404, "not-found")
    check_problem(ask(served, key, "GET", "/v1/campaigns/nowhere"), 403, "forbidden")
    items = [{"decision_id": one, "value": 1.0, "event_id": f"e-{one}"} for one in (decision, own)]
    batch = ask(served, key, "POST", "/v1/events/batch", json={"events": items})
    assert [one["status"] for one in batch.json()["results"]] == ["rejected", "accepted"]
    assert batch.json()["results"][0]["event_id"] == f"e-{decision}"
    page = served.call("GET", "/v1/campaigns/hero/events").json()
    assert [one["type"] for one in page["events"]] == ["created", "decision"]


def test_an_admin_of_one_campaign_changes_that_one_and_makes_no_keys(served: Served) -> None:
    served.decision()
    other_campaign(served)
    key = key_for(served, "hero")
    assert ask(served, key, "POST", "/v1/campaigns/hero/pause").status_code == 200
    check_problem(ask(served, key, "POST", "/v1/campaigns/other/pause"), 403, "forbidden")
    body = {"name": "more", "scopes": ["admin"]}
    check_problem(ask(served, key, "POST", "/v1/keys", json=body), 403, "forbidden")
    new = CAMPAIGN | {"name": "new"}
    check_problem(ask(served, key, "POST", "/v1/campaigns", json=new), 403, "forbidden")
    check_problem(ask(served, key, "GET", "/v1/backup"), 403, "forbidden")


CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("PATCH", "", {"json": {"explore": 0.1}}),
    ("POST", "/pause", {}),
    ("POST", "/start", {}),
    ("POST", "/actions", {"json": {"action": "x"}}),
    ("PATCH", "/actions/x", {"json": {"status": "paused"}}),
    ("POST", "/refit", {}),
    ("POST", "/history", {"json": {"id": "old", "rows": [{"action": "a", "signal": "click"}]}}),
    ("DELETE", "/units/u1", {}),
    ("POST", "/stop", {}),
    ("POST", "/hide", {}),
]


def test_every_change_names_the_key_that_made_it(broken: Served) -> None:
    """That the log keeps the name is a rule of the engine: here it must be handed on."""
    broken.decision()
    key = key_for(broken, "hero")
    engine: Any = broken.engine
    for method, path, body in CHANGES:
        answer = ask(broken, key, method, f"/v1/campaigns/hero{path}", **body)
        assert answer.is_success, answer.text
        assert engine.authors[-1].name == "hero"
    for method, path in (
        ("POST", "/v1/secrets"),
        ("DELETE", "/v1/secrets/0?with_ids=true"),
        ("DELETE", "/v1/keys/k1"),
    ):
        assert broken.call(method, path).is_success
        assert engine.authors[-1].name == "admin"
    copy, media = b"SQLite format 3\0", {"Content-Type": "application/vnd.sqlite3"}
    assert broken.call("POST", "/v1/restore", content=copy, headers=media).is_success
    assert engine.authors[-1].name == "admin"
    wanted = {one.name for one in KEYED if one.scope == "admin" and one.method != "GET"}
    wanted.remove("evaluate")  # it reads the log, and changes nothing
    assert len(engine.authors) == len(wanted), "one for each operation that changes"


def test_who_changed_what_is_shown(served: Served) -> None:
    served.decision()
    key = key_for(served, "hero")
    for method, path, body in CHANGES:
        ask(served, key, method, f"/v1/campaigns/hero{path}", **body)
        while served.call("GET", "/v1/campaigns/hero").json().get("refit"):  # it changes later
            time.sleep(0.01)
    page = served.call("GET", "/v1/campaigns/hero/events").json()["events"]
    shown = served.call("GET", "/v1/events").json()["events"]
    if isinstance(served.engine, FakeEngine):  # it is told who, as tested above, and shows nobody
        assert len(served.engine.authors) == 2 + len(CHANGES)
        return
    by = [one["body"]["by"]["name"] for one in page if one["type"] != "decision"]
    assert by == ["first", *["hero"] * len(CHANGES)]
    (made,) = [one for one in shown if one["body"].get("campaign") == "hero"]
    assert (made["type"], made["body"]["by"]["name"]) == ("key_made", "first")


def test_a_secret_is_retired_over_http(served: Served) -> None:
    served.decision()
    for path in ("/v1/secrets/nonsense", "/v1/secrets/99", "/v1/secrets/-1", "/v1/secrets/²"):
        check_problem(served.call("DELETE", path), 404, "not-found")
    check_problem(served.call("DELETE", "/v1/secrets/0?with_ids=maybe"), 422, "bad-parameter")
    retired = served.call("DELETE", "/v1/secrets/0?with_ids=true")
    assert (retired.status_code, retired.json()["ids_valid"]) == (200, False)
    assert served.call("GET", "/v1/secrets").json()["secrets"][0]["secret"] == 0
