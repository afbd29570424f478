"""Campaigns, decisions and feedback by HTTP: versions, addresses, ids, batches."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.service.http.bodies import split_ndjson
from tests.service.engine_driver import LOG_ENGINES
from tests.service.http.conftest import CAMPAIGN, Served

HERO = "/v1/campaigns/hero"

NDJSON = {"Content-Type": "application/x-ndjson"}

STATUSES = {"accepted", "duplicate", "late", "parked", "rejected"}


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
SUCCESS = {"/actions": 201, "/refit": 202}


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_a_change_needs_the_version_that_it_names(
    served: Served, method: str, path: str, body: Any
) -> None:
    tag = make(served).headers["etag"]
    for wrong in ('"0"', f"W/{tag}", f'W/{tag}, "0"', "nonsense", tag.strip('"'), '""', ""):
        answer = served.call(method, HERO + path, json=body, headers={"If-Match": wrong})
        assert answer.status_code == 412, wrong
        assert answer.json()["type"] == "urn:foretell:problem:stale"
        bare = wrong == tag.strip('"')
        assert (f"in If-Match with its quotes, as in {tag}" in answer.json()["detail"]) == bare
    answer = served.call(method, HERO + path, json=body, headers={"If-Match": f'"0", {tag}'})
    assert answer.status_code == SUCCESS.get(path, 200), answer.text
    if path not in ("/start", "/refit"):  # the latter has begun, and changes nothing yet
        assert answer.headers["etag"] != tag
        stale = served.call(method, HERO + path, json=body, headers={"If-Match": tag})
        assert stale.status_code == 412


@pytest.mark.parametrize("headers", [{}, {"If-Match": "*"}])
def test_without_a_version_any_will_do(served: Served, headers: dict[str, str]) -> None:
    make(served)
    for method, path, body in CHANGES:
        answer = served.call(method, HERO + path, json=body, headers=headers)
        assert answer.status_code == SUCCESS.get(path, 200), (path, answer.text)
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


@pytest.mark.parametrize("served", ["memory", "sqlite"], indirect=True)
def test_a_line_end_is_part_of_the_name_of_a_unit(served: Served) -> None:
    make(served)
    for unit in ("bob", "bob\n", "a\nb", "\n"):
        decided = served.call("POST", f"{HERO}/decisions", json={"unit": unit})
        assert decided.status_code == 201
    for unit in ("bob%0A", "a%0Ab", "%0A"):
        answer = served.call("DELETE", f"{HERO}/units/{unit}")
        assert (answer.status_code, answer.json()) == (200, {"decisions": 1})
        again = served.call("DELETE", f"{HERO}/units/{unit}")
        assert again.json() == {"decisions": 0}
    assert served.call("DELETE", f"{HERO}/units/bob").json() == {"decisions": 1}


def test_reports_are_of_the_campaign(served: Served) -> None:
    served.decision()
    for name in ("report", "timeseries", "delays", "signals", "changes"):
        answer = served.call("GET", f"{HERO}/{name}", "read")
        found = answer.json()
        assert found["campaign"] == "hero"
        assert found.get("as_of") or found["log"]["as_of"], "how far the log is counted"
        assert served.call("GET", f"/v1/campaigns/none/{name}", "read").status_code == 404


@pytest.mark.parametrize("name", ["timeseries", "signals"])
def test_a_part_of_the_time_is_asked_for(served: Served, name: str) -> None:
    served.decision()
    found = served.call("GET", f"{HERO}/{name}?width=7200&from=2026-01-01T00:00:00Z", "read")
    assert found.json()["width"] == 7200
    for query, said in (
        ("from=yesterday", "from must be a time with its zone"),
        ("to=2026-01-01", "to must be a time with its zone"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from must be before to"),
        ("width=0", "width must be a whole number of seconds of at least 1"),
        ("width=0.5", "got '0.5': send a whole number"),
        ("since=1", "parameter 'since'"),
    ):
        answer = served.call("GET", f"{HERO}/{name}?{query}", "read")
        assert answer.status_code == 422
        assert said in answer.json()["detail"]


def test_records_of_one_type_are_asked_for(served: Served) -> None:
    served.decision()
    found = served.call("GET", f"{HERO}/events?type=decision", "read").json()["events"]
    assert [one["type"] for one in found] == ["decision"]
    answer = served.call("GET", f"{HERO}/events?type=decided", "read")
    assert answer.status_code == 422
    assert "type must be one of 'changed', 'configuration'" in answer.json()["detail"]


def test_the_log_is_read_page_by_page(served: Served) -> None:
    served.decision()
    served.decision()
    after, seen = "0", []
    while True:
        page = served.call("GET", f"{HERO}/events?after={after}&limit=1", "read").json()
        if not page["events"]:
            break
        seen += page["events"]
        after = page["next"]
    assert [one["type"] for one in seen] == ["created", "decision", "decision"]
    places = [int(one["seq"]) for one in seen]
    assert places == sorted(set(places))
    assert all(place > 2**53 for place in places), "hence they are texts"


def test_a_signal_a_reward_and_a_void_are_taken_in(served: Served) -> None:
    decision = served.decision()
    for path, body in (
        ("signal", {"signal": "click", "event_id": "s1"}),
        ("reward", {"value": 1.0, "event_id": "r1"}),
        ("void", {"event_id": "v1"}),
    ):
        answer = served.call("POST", f"/v1/decisions/{decision}/{path}", "feedback", json=body)
        assert answer.status_code == 200, answer.text
        assert answer.json()["status"] in STATUSES
        assert answer.json()["event_id"] == body["event_id"]
    history = served.call("GET", f"/v1/decisions/{decision}", "read")
    assert history.json()["decision_id"] == decision


@pytest.mark.parametrize("served", LOG_ENGINES, indirect=True)
def test_of_a_voided_decision_nothing_counts(served: Served) -> None:
    decision = served.decision()
    for path, body in (
        ("reward", {"value": 1.0, "event_id": "before"}),
        ("void", {"event_id": "v"}),
        ("void", {"event_id": "v"}),
        ("reward", {"value": 1.0, "event_id": "after"}),
    ):
        answer = served.call("POST", f"/v1/decisions/{decision}/{path}", "feedback", json=body)
        assert answer.status_code == 200, answer.text
    history = served.call("GET", f"/v1/decisions/{decision}", "read").json()
    assert history["voided"]
    assert history["signal"] is history["reward"] is None
    assert [one["type"] for one in history["events"]] == ["decision", "reward", "void", "reward"]
    counts = served.call("GET", f"{HERO}/report", "read").json()["counts"]
    assert (counts["voided"], counts["duplicates"], counts["rewards"]) == (1, 1, 2)
    assert counts["open_signals"] == counts["open_rewards"] == 0


@pytest.mark.parametrize("served", LOG_ENGINES, indirect=True)
def test_a_correction_without_a_target_is_refused(served: Served) -> None:
    decision = served.decision()
    reward = {"value": 1.0, "event_id": "r1"}
    path = f"/v1/decisions/{decision}/reward"
    assert served.call("POST", path, json=reward).json()["status"] == "accepted"
    for wrong in ({"kind": "adjust", "value": 0.5}, {"kind": "retract"}):
        answer = served.call("POST", path, json={**wrong, "event_id": "r1"})
        assert answer.status_code == 422, answer.text
        assert "needs the target" in answer.json()["detail"]
    right = {"kind": "adjust", "value": 0.5, "target": "r1", "event_id": "c1"}
    assert served.call("POST", path, json=right).json()["status"] == "accepted"


def test_a_decision_takes_more_events_than_any_limit(served: Served) -> None:
    decision = served.decision()
    events = [{"decision_id": decision, "value": 0.0, "event_id": f"e{n}"} for n in range(1500)]
    answer = served.call("POST", "/v1/events/batch", "feedback", json={"events": events})
    assert [one["status"] for one in answer.json()["results"]] == ["accepted"] * 1500
    path = f"/v1/decisions/{decision}/signal"
    assert served.call("POST", path, json={"signal": "click"}).json()["status"] == "accepted"


def test_the_version_counts_the_configurations(served: Served) -> None:
    tags = [make(served).headers["etag"]]
    for method, path, body in CHANGES[:2]:
        tags.append(served.call(method, HERO + path, json=body).headers["etag"])
    assert tags == ['"1"', '"2"', '"3"']


def wrong_ids(decision: str) -> list[str]:
    flipped = "A" if decision[5] != "A" else "B"
    return [
        decision[:-1],
        decision[1:],
        decision[: len(decision) // 2],
        decision + "A",
        decision[:5] + flipped + decision[6:],
        decision.swapcase(),
        decision[::-1],
        "nothing",
        "x" * 5000,
        "é",
        "%00",
        "..%2e",
        "=" * 70,
    ]


def test_forged_truncated_and_foreign_ids_are_404(served: Served) -> None:
    for wrong in wrong_ids(served.decision()):
        signal = served.call("POST", f"/v1/decisions/{wrong}/signal", json={"signal": "click"})
        reward = served.call("POST", f"/v1/decisions/{wrong}/reward", json={"value": 1})
        void = served.call("POST", f"/v1/decisions/{wrong}/void", json={})
        history = served.call("GET", f"/v1/decisions/{wrong}")
        for answer in (signal, reward, void, history):
            assert answer.status_code == 404, (wrong, answer.text)
            assert answer.json()["type"] == "urn:foretell:problem:not-found"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(token=st.text(string.ascii_letters + string.digits + "-_.=~", min_size=1, max_size=120))
def test_no_made_up_id_is_known(served: Served, token: str) -> None:
    if token not in {".", ".."}:
        assert served.call("GET", f"/v1/decisions/{token}").status_code == 404


def batch(served: Served, body: bytes) -> Any:
    return served.call("POST", "/v1/events/batch", "feedback", content=body, headers=NDJSON)


def test_a_batch_takes_each_event_for_itself(served: Served) -> None:
    decision = served.decision()
    events = [
        {"decision_id": decision, "signal": "click", "event_id": "a"},
        {"decision_id": "forged", "value": 1},
        {"decision_id": decision, "signal": "unknown"},
        {"nothing": 1},
        7,
        None,
        {"decision_id": decision, "value": 0.5, "event_id": "b"},
        {"decision_id": decision, "kind": "void", "event_id": "c"},
    ]
    answer = served.call("POST", "/v1/events/batch", "feedback", json={"events": events})
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    rejected = [one["status"] == "rejected" for one in results]
    assert rejected == [False, True, True, True, True, True, False, False]
    assert all(one["detail"] for one in results if one["status"] == "rejected")


def test_bad_lines_are_named_and_harm_no_other(served: Served) -> None:
    good = json.dumps({"decision_id": served.decision(), "value": 1.0}).encode()
    deep = b"[" * 50_000
    body = b"\r\n".join(
        [good, b"", b"nonsense", b'{"decision_id": "\xff"}', good, deep, b'{"value": NaN}', b"  "]
    )
    answer = batch(served, body)
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert [one["status"] == "rejected" for one in results] == [
        False,
        True,
        True,
        False,
        True,
        True,
    ]
    named = [one["detail"].partition(":")[0] for one in results if one["status"] == "rejected"]
    assert named == ["line 3", "line 4", "line 6", "line 7"]


def test_an_empty_batch_is_422_and_a_long_one_413(served: Served) -> None:
    assert batch(served, b"\n\n").status_code == 422
    assert batch(served, b"").status_code == 422
    assert batch(served, b"{}\n" * MAX_BATCH_EVENTS).status_code == 200
    assert batch(served, b"{}\n" * (MAX_BATCH_EVENTS + 1)).status_code == 413
    for count, status in ((0, 422), (MAX_BATCH_EVENTS, 200), (MAX_BATCH_EVENTS + 1, 413)):
        answer = served.call("POST", "/v1/events/batch", json={"events": [{}] * count})
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b'{"events": [1, }', 400),
        (b'{"events": [NaN]}', 400),
        (b'{"events": [' + b"[" * 50_000, 400),
        (b'{"events": [' + b"[" * 100_000, 413),
        (b'{"events": {}}', 422),
        (b'{"event": []}', 422),
        (b"[]", 422),
    ],
)
def test_a_batch_that_is_no_batch_is_refused(served: Served, body: bytes, status: int) -> None:
    answer = served.call(
        "POST", "/v1/events/batch", content=body, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == status, answer.text


line = st.one_of(
    st.binary(max_size=40).filter(lambda raw: b"\n" not in raw),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=5,
    ).map(lambda value: json.dumps(value).encode()),
    st.fixed_dictionaries(
        {"decision_id": st.just("DECISION") | st.text(max_size=5)},
        optional={
            "signal": st.sampled_from(["click", "none", "other"]),
            "value": st.floats() | st.integers(),
            "kind": st.sampled_from(["reward", "adjust", "retract", "void", "x"]),
            "event_id": st.text(max_size=4),
            "target": st.text(max_size=4),
            "occurred_at": st.just("2026-01-01T00:00:00Z") | st.text(max_size=40),
        },
    ).map(lambda value: json.dumps(value).encode()),
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(sent=st.lists(line, min_size=1, max_size=8))
def test_any_lines_get_a_receipt_each(served: Served, sent: list[bytes]) -> None:
    decision = served.decision().encode()
    body = b"\n".join(sent).replace(b"DECISION", decision)
    numbered = split_ndjson(body)
    answer = batch(served, body)
    if not numbered:
        assert answer.status_code == 422
        return
    assert answer.status_code == 200, answer.text
    results = answer.json()["results"]
    assert len(results) == len(numbered)
    for (number, _), one in zip(numbered, results, strict=True):
        assert one["status"] in STATUSES
        if one["status"] == "rejected":
            assert one["detail"].startswith(f"line {number}: ")
