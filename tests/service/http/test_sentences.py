"""Whatever is wrong with a request, its answer is a sentence that names the field."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.http.operation import Operation
from foretell.service.http.routes import OPERATIONS
from foretell.service.model.live_policies import live_policies
from tests.service.http.conftest import JSON, Served
from tests.service.http.sentences import check_sentence

WRONG: list[Any] = [
    None, True, 3, -1.5, 10**400, "", "a b", "60", "x" * 1000, [], [3], ["a"], ["a", "a"], {},
    {"a": 1}, [[["a"]]], "1e999",
]  # fmt: skip
NO_JSON = [b"", b"{", b"[", b'{"a":', b"nonsense", b"\xff", b'{"a": NaN}', b'{"a" 1}', b"{}x"]
NO_OBJECT = [b"[]", b"3", b'"x"', b"null", b"true", b"[{}]"]
real_engine = pytest.mark.parametrize("served", ["memory"], indirect=True)


def with_body() -> list[Operation]:
    return [one for one in OPERATIONS if isinstance(one.request, type(protocol.RequestBody))]


def path_of(operation: Operation, decision: str) -> str:
    values = {"campaign": "hero", "action": "a", "decision": decision, "key_id": "k1", "secret": 0}
    return operation.path.format(**values)


def wrong_bodies(operation: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield bodies with one thing that is wrong, each with the field that must be named."""
    for name in operation.request.__struct_fields__:
        for value in WRONG:
            yield name, {name: value}
        yield f"{name}x", {f"{name}x": 1}
    for name in operation.example:
        yield name, {name: msgspec.UNSET}


def with_own_ids(example: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a body whose ids nothing else has, with rows that the campaign can use."""
    ids = {"event_id", "decision_key", "name", "action", "id"} & set(example)
    rows = {"rows": [{"action": "a", "signal": "click"}]} if "rows" in example else {}
    return example | {name: f"{example[name]}-{number}" for name in ids} | rows


@real_engine
@pytest.mark.parametrize("operation", with_body(), ids=lambda one: one.name)
def test_every_wrong_field_is_named(served: Served, operation: Operation) -> None:
    decision = served.decision()
    path, refused = path_of(operation, decision), 0
    for number, (name, wrong) in enumerate(wrong_bodies(operation)):
        body = with_own_ids(operation.example, number) | wrong
        body = {one: value for one, value in body.items() if value is not msgspec.UNSET}
        for _ in range(100):
            answer = served.call(operation.method, path, content=json.dumps(body), headers=JSON)
            if answer.status_code != 409 or name in answer.text:
                break
            time.sleep(0.05)  # what was right before may still be read by a refit
        if answer.status_code < 400:
            continue  # some values are right for some fields
        refused += 1
        problem = answer.json()
        assert answer.status_code in {409, 422}, (body, problem)
        check_sentence(problem)
        assert name in problem["detail"], (body, problem)
        if answer.status_code == 422:
            assert name in [one["field"].partition("[")[0] for one in problem["errors"]], problem
    assert refused > 5


@real_engine
@pytest.mark.parametrize("body", [*NO_JSON, *NO_OBJECT])
def test_a_body_of_another_kind_is_told_so(served: Served, body: bytes) -> None:
    decision = served.decision()
    for operation in with_body():
        path = path_of(operation, decision)
        answer = served.call(operation.method, path, content=body, headers=JSON)
        if operation.optional and not body:
            assert answer.status_code == 201
            continue
        check_sentence(answer.json())
        assert answer.status_code == (400 if body in NO_JSON else 422)
        assert "body" in answer.json()["detail"] or "NaN" in answer.json()["detail"]


@real_engine
def test_every_other_refusal_is_a_sentence(served: Served) -> None:
    served.decision()
    for operation in OPERATIONS:
        check_refusals(served, operation)


def check_refusals(served: Served, operation: Operation) -> None:
    unknown = {"campaign": "heros", "action": "z", "decision": "d" * 60, "key_id": "z", "secret": 9}
    unknown["evaluation"] = "z"
    path = operation.path.replace("{unit:unit}", "u").format(**unknown)
    answers = [
        served.call(operation.method, path, content=b"{}", headers={"Content-Type": "text/plain"}),
        served.call(operation.method, f"{path}?limt=x", content=b"", headers=JSON),
        served.call("BREW", path),
        served.client.request(operation.method, path),
        served.client.request(operation.method, path, headers={"Authorization": "Basic x"}),
    ]
    if operation.example:
        answers.append(served.call(operation.method, path, json=operation.example))
    elif operation.request is None:
        answers.append(served.call(operation.method, path))
    for answer in answers:
        if 400 <= answer.status_code < 500:
            check_sentence(answer.json())
    assert any(answer.status_code >= 400 for answer in answers)


@real_engine
def test_every_error_of_a_body_is_in_one_answer(served: Served) -> None:
    body = {"nam": "c", "actions": ["a"], "signals": ["none"], "policy": 3, "explore": 2}
    problem = served.call("POST", "/v1/campaigns", json=body).json()
    assert [one["field"] for one in problem["errors"]] == [
        "nam",
        "name",
        "actions",
        "policy",
        "explore",
    ]
    assert problem["detail"].startswith("5 things are wrong: ")
    assert "there is no field 'nam': did you mean 'name'?" in problem["detail"]


@real_engine
@pytest.mark.parametrize(
    ("body", "way"),
    [
        ({"actions": ["a"]}, "POST …/actions"),
        ({"status": "paused"}, "POST …/start, …/pause or …/stop"),
        ({"name": "other"}, "the name of a campaign stays as it is"),
    ],
)
def test_what_a_change_does_not_set_says_what_does(
    served: Served, body: dict[str, Any], way: str
) -> None:
    (name,) = body
    problem = served.call("PATCH", "/v1/campaigns/hero", json=body).json()
    assert problem["detail"].startswith(f"there is no field '{name}' here: ")
    assert way in problem["detail"]


@real_engine
def test_rules_are_checked_beside_types(served: Served) -> None:
    body = {"name": 3, "actions": ["a", "a"], "policy": "best", "explore": 2, "holdout": 1.0}
    problem = served.call("POST", "/v1/campaigns", json=body | {"reward_window": "x"}).json()
    fields = [one["field"] for one in problem["errors"]]
    assert fields == ["name", "signals", "reward_window", "explore", "actions", "policy"]


@real_engine
def test_only_policies_that_run_live_are_named(served: Served) -> None:
    body = {"name": "c", "actions": ["a", "b"], "signals": ["none"], "policy": "oracle-ucb"}
    problem = served.call("POST", "/v1/campaigns", json=body).json()
    assert problem["errors"][0]["field"] == "policy"
    body["policy"] = "best"
    listed = served.call("POST", "/v1/campaigns", json=body).json()["detail"]
    assert all(repr(name) in listed for name in live_policies())
    assert "oracle" not in listed


@real_engine
@pytest.mark.parametrize("media", ["application/json", "application/x-ndjson"])
def test_every_rejected_event_of_a_batch_is_told_why(served: Served, media: str) -> None:
    decision = served.decision()
    items = [
        b"3", b"{}", b'{"decision_id": 3}', b'{"decision_id": "x", "valu": 1}',
        msgspec.json.encode({"decision_id": decision, "signal": "clik"}),
        msgspec.json.encode({"decision_id": decision, "value": "1"}),
        msgspec.json.encode({"decision_id": decision, "value": 1e6}),
        msgspec.json.encode({"decision_id": decision, "value": 1, "occurred_at": "2999-01-01"}),
        msgspec.json.encode({"decision_id": decision, "value": 1, "kind": "adjust"}),
    ]  # fmt: skip
    fields = ["body", "decision_id", "decision_id", "valu", "signal", "value", "value",
              "occurred_at", "target"]  # fmt: skip
    content = b"\n".join(items)
    if media == "application/json":
        content = b'{"events": [' + b",".join(items) + b"]}"
    else:
        items.append(b"{")
        fields.append("body")
        content += b"\n{"
    path = "/v1/events/batch"
    answer = served.call("POST", path, content=content, headers={"Content-Type": media})
    results = answer.json()["results"]
    assert len(results) == len(items)
    for field, receipt in zip(fields, results, strict=True):
        assert receipt["status"] == "rejected"
        check_sentence({"detail": receipt["detail"]})
        assert field in receipt["detail"]


@real_engine
def test_an_unknown_campaign_is_told_the_nearest_one(served: Served) -> None:
    served.decision()
    decided = served.call("POST", "/v1/campaigns/heros/decisions", json={})
    assert decided.status_code == 404
    assert decided.json()["detail"] == "there is no campaign 'heros': did you mean 'hero'?"
    other = served.call("GET", "/v1/campaigns/quite-another").json()["detail"]
    assert other == ("there is no campaign 'quite-another': list the campaigns, or make it first")


@real_engine
def test_a_key_without_the_scope_is_told_what_it_has(served: Served) -> None:
    body = {"name": "web", "scopes": ["feedback", "decide"]}
    key = served.call("POST", "/v1/keys", json=body).json()["key"]
    headers = {"Authorization": f"Bearer {key}"}
    answer = served.client.request("GET", "/v1/campaigns/hero/report", headers=headers)
    assert answer.status_code == 403
    check_sentence(answer.json())
    assert answer.json()["detail"] == (
        "this needs a key with the scope admin or read, and the key that was sent has decide, "
        "feedback alone: use another key, or make one"
    )
    assert key not in answer.text
