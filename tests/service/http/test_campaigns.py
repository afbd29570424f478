"""Campaigns by HTTP: versions as ETags, addresses of what was made, nothing kept by caches."""

from __future__ import annotations

from typing import Any

import pytest

from foretell.service.http.table import OPERATIONS
from tests.service.http.conftest import CAMPAIGN, Served

HERO = "/v1/campaigns/hero"


def make(served: Served) -> Any:
    answer = served.call("POST", "/v1/campaigns", json=CAMPAIGN)
    assert answer.status_code == 201, answer.text
    return answer


def test_what_is_made_has_an_address_and_a_version(served: Served) -> None:
    made = make(served)
    assert made.headers["location"] == HERO
    assert made.headers["etag"] == f'"{made.json()["version"]}"'
    shown = served.call("GET", made.headers["location"], "read")
    assert shown.json() == made.json()
    assert shown.headers["etag"] == made.headers["etag"]
    listed = served.call("GET", "/v1/campaigns", "read").json()["campaigns"]
    assert listed == [made.json()]
    decided = served.call("POST", f"{HERO}/decisions", "decide")
    location = f"/v1/decisions/{decided.json()['decision_id']}"
    assert (decided.status_code, decided.headers["location"]) == (201, location)
    assert served.call("GET", location, "read").status_code == 200
    added = served.call("POST", f"{HERO}/actions", json={"action": "c"})
    assert (added.status_code, added.headers["location"]) == (201, f"{HERO}/actions/c")
    key = served.call("POST", "/v1/keys", json={"name": "x", "scopes": ["read"]})
    assert (key.status_code, key.headers["location"]) == (201, f"/v1/keys/{key.json()['id']}")


def test_the_same_decision_key_gives_the_same_decision(served: Served) -> None:
    make(served)
    body = {"decision_key": "k"}
    first = served.call("POST", f"{HERO}/decisions", json=body)
    again = served.call("POST", f"{HERO}/decisions", json=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()


CHANGES: list[tuple[str, str, Any]] = [
    ("PATCH", "", {"explore": 0.1}),
    ("POST", "/pause", None),
    ("POST", "/start", None),
    ("POST", "/actions", {"action": "c"}),
    ("PATCH", "/actions/a", {"status": "paused"}),
    ("POST", "/refit", None),
    ("POST", "/stop", None),
]


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_a_change_needs_the_version_that_it_names(
    served: Served, method: str, path: str, body: Any
) -> None:
    tag = make(served).headers["etag"]
    for wrong in ('"0"', f"W/{tag}", f'W/{tag}, "0"', "nonsense", tag.strip('"'), '""', ""):
        answer = served.call(method, HERO + path, json=body, headers={"If-Match": wrong})
        assert answer.status_code == 412, wrong
        assert answer.json()["type"] == "urn:foretell:problem:stale"
    answer = served.call(method, HERO + path, json=body, headers={"If-Match": f'"0", {tag}'})
    assert answer.status_code in {200, 201}, answer.text
    if path != "/start":
        assert answer.headers["etag"] != tag
        stale = served.call(method, HERO + path, json=body, headers={"If-Match": tag})
        assert stale.status_code == 412


@pytest.mark.parametrize("headers", [{}, {"If-Match": "*"}])
def test_without_a_version_any_will_do(served: Served, headers: dict[str, str]) -> None:
    make(served)
    for method, path, body in CHANGES:
        answer = served.call(method, HERO + path, json=body, headers=headers)
        assert answer.status_code in {200, 201}, (path, answer.text)
    for tag in ("*", '"1"'):
        gone = served.call("POST", "/v1/campaigns/none/stop", headers={"If-Match": tag})
        assert gone.status_code == 404


def test_a_unit_may_have_any_name(served: Served) -> None:
    make(served)
    for unit in ("u1", "a%2Fb", "a/b", "%C3%A9", "%20"):
        answer = served.call("DELETE", f"{HERO}/units/{unit}")
        assert (answer.status_code, answer.json()) == (200, {"decisions": 0})
    for unit in ("", "x" * 201):
        assert served.call("DELETE", f"{HERO}/units/{unit}").status_code == 422


def test_nothing_is_kept_by_caches(served: Served) -> None:
    make(served)
    for operation in OPERATIONS:
        path = operation.path.replace("{campaign}", "hero").replace("{unit:path}", "u")
        answer = served.call(operation.method, path)
        assert answer.headers["cache-control"] == "no-store", path


def test_reports_are_of_the_campaign(served: Served) -> None:
    served.decision()
    for name in ("report", "timeseries", "delays", "signals", "changes"):
        answer = served.call("GET", f"{HERO}/{name}", "read")
        assert answer.json()["campaign"] == "hero"
        assert served.call("GET", f"/v1/campaigns/none/{name}", "read").status_code == 404


def test_the_log_is_read_page_by_page(served: Served) -> None:
    served.decision()
    served.decision()
    after, seen = 0, []
    while True:
        page = served.call("GET", f"{HERO}/events?after={after}&limit=1", "read").json()
        if not page["events"]:
            break
        seen += page["events"]
        after = page["next"]
    assert [one["type"] for one in seen] == ["created", "decision", "decision"]
    assert len({one["seq"] for one in seen}) == 3
