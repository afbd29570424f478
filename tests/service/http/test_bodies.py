"""A body or a query that is too much, too deep or unreadable is refused before it is used."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.types import Message

from foretell.service.http import handlers
from foretell.service.http.bodies import (
    MAX_DEPTH,
    MAX_EVENT_VALUES,
    MAX_LINES,
    MAX_VALUES,
    read_body,
)
from foretell.service.http.limits import Limits
from foretell.service.model.errors import TooLarge
from tests.service.http.conftest import CAMPAIGN, SMALL, Served, check_problem, post
from tests.service.http.fake_engine import KEYS, FakeEngine


def test_a_body_that_says_it_is_too_large_is_not_read(served: Served) -> None:
    def body() -> Iterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    length = str(SMALL.body + 1)
    check_problem(post(served, body(), **{"Content-Length": length}), 413, "too-large")
    check_problem(post(served, body(), **{"Content-Length": "9" * 30}), 413, "too-large")
    check_problem(post(served, body(), **{"Content-Length": "many"}), 400, "malformed")


def test_a_body_that_grows_too_large_is_not_read_to_its_end() -> None:
    """An endless body is refused as soon as it is too large."""
    sent = 0

    async def receive() -> Message:
        nonlocal sent
        sent += 100
        return {"type": "http.request", "body": bytes(100), "more_body": True}

    with pytest.raises(TooLarge, match="at most 1000 bytes"):
        asyncio.run(read_body(receive, {}, 1000))
    assert sent <= 1200


class Meter:
    """Notes what was taken and is held."""

    def __init__(self) -> None:
        self.taken = self.held = self.most = 0

    def take(self, size: int) -> None:
        self.taken += size

    def hold(self, size: int) -> None:
        self.held += size
        self.most = max(self.most, self.held)


@pytest.mark.parametrize("part", [b"x" * 100, b"," * 100])
def test_a_body_that_is_refused_is_paid_for_and_held_no_longer(part: bytes) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": part, "more_body": True}

    meter = Meter()
    with pytest.raises(TooLarge):
        asyncio.run(read_body(receive, {}, 1000, 500, meter))
    assert meter.taken >= 500
    assert meter.most >= 400
    assert meter.held == 0


def test_a_body_in_pieces_is_put_together(served: Served) -> None:
    text = json.dumps(CAMPAIGN).encode()
    assert post(served, (text[i : i + 7] for i in range(0, len(text), 7))).status_code == 201


def test_a_body_of_the_limit_passes(served: Served) -> None:
    text = json.dumps(CAMPAIGN).encode().ljust(SMALL.body)
    assert post(served, text).status_code == 201
    check_problem(post(served, text + b" "), 413, "too-large")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"\xff\xfe",
        b'{"name": "\xff"}',
        b'{"name": "\\ud800"}',
        b'{"name": "x", "default_reward": NaN}',
        b'{"name": "x", "default_reward": Infinity}',
        b'{"name": "x", "default_reward": -Infinity}',
        b"\xef\xbb\xbf{}",
        b"[" * 10_000,
        b'{"a":' * 3_000,
        b"[" * 5_000 + b"]" * 5_000,
    ],
)
def test_what_is_no_json_is_400(served: Served, body: bytes) -> None:
    check_problem(post(served, body), 400, "malformed")


@pytest.mark.parametrize(
    "change",
    [
        {"default_reward": "1"},
        {"default_reward": True},
        {"name": 3},
        {"name": "a\n"},
        {"name": "a/b"},
        {"name": ""},
        {"name": "x" * 101},
        {"actions": ["a"]},
        {"reward_window": 0},
        {"reward_window": 1e300},
        {"explore": 1.5},
        {"unknown": 1},
        {"policy": "nonsense"},
    ],
)
def test_what_cannot_be_used_is_422(served: Served, change: dict[str, Any]) -> None:
    check_problem(post(served, json.dumps({**CAMPAIGN, **change})), 422, "unusable")


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1" + b"0" * 400])
def test_a_number_beyond_floats_is_422(served: Served, number: bytes) -> None:
    body = json.dumps({**CAMPAIGN, "default_reward": 0.5}).encode().replace(b"0.5", number)
    check_problem(post(served, body), 422, "unusable")
    path = f"/v1/decisions/{served.decision()}/reward"
    check_problem(post(served, b'{"value": %s}' % number, path), 422, "unusable")


def test_a_context_has_a_greatest_depth(served: Served) -> None:
    served.decision()
    path = "/v1/campaigns/hero/decisions"
    for depth, status in ((MAX_DEPTH, 201), (MAX_DEPTH + 1, 400), (900, 400), (3_000, 400)):
        inside = b"[" * (depth - 2) + b"]" * (depth - 2)
        answer = post(served, b'{"context": {"a": %s}}' % inside, path)
        assert answer.status_code == status, depth
    flat = b'{"context": {"a": [%s], "b": "%s"}}' % (b",".join([b"{}"] * 500), b"[" * 500)
    assert post(served, flat, path).status_code == 201


@pytest.mark.parametrize(
    "text",
    [
        r'"' + "[" * 500,
        r'"\\", "b": "' + "[" * 500,
        r'"\"' + "[" * 500,
        r'"\\\"' + "[" * 500,
        r'"' + "]" * 500 + "[" * 500,
    ],
)
def test_brackets_in_a_string_are_none(served: Served, text: str) -> None:
    served.decision()
    path = "/v1/campaigns/hero/decisions"
    body = f'{{"context": {{"a": {text}"}}}}'.encode()
    assert post(served, body, path).status_code == 201
    deep = "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1)
    body = f'{{"context": {{"a": {text}", "z": {deep}}}}}'.encode()
    check_problem(post(served, body, path), 400, "malformed")


MANY = {
    "brackets": b"[" * 400_000,
    "objects": b'{"events": [' + b"{}" * 200_000,
    "numbers": b'{"events": [' + b"1," * 200_000 + b"1]}",
    "line ends": b"\n" * 400_000,
}


@pytest.mark.parametrize("what", list(MANY))
@pytest.mark.parametrize("media", ["application/json", "application/x-ndjson"])
def test_what_would_take_long_to_parse_is_not_parsed(
    broken: Served, what: str, media: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it was parsed")

    monkeypatch.setattr(handlers, "parse_json", never)
    monkeypatch.setattr(handlers, "split_ndjson", never)
    answer = post(broken, MANY[what], "/v1/events/batch", **{"Content-Type": media})
    check_problem(answer, 413, "too-large")
    assert str(MAX_VALUES) in answer.json()["detail"]


def test_what_would_take_long_to_parse_is_not_read_to_its_end() -> None:
    sent = 0

    async def receive() -> Message:
        nonlocal sent
        sent += 10_000
        return {"type": "http.request", "body": b"[" * 10_000, "more_body": sent < 1_000_000}

    with pytest.raises(TooLarge, match="opening brackets"):
        asyncio.run(read_body(receive, {}, 2_000_000))
    assert sent <= MAX_VALUES + 10_000


def test_lines_of_a_batch_are_counted_before_they_are_split(served: Served) -> None:
    content = b"\n" * (MAX_LINES + 1)
    answer = post(served, content, "/v1/events/batch", **{"Content-Type": "application/x-ndjson"})
    check_problem(answer, 413, "too-large")
    assert str(MAX_LINES + 1) in answer.json()["detail"]


def test_a_batch_of_as_many_events_as_are_allowed_is_read_however_it_is_written(
    served: Served,
) -> None:
    decision = served.decision()
    events = [
        {"decision_id": decision, "value": 1, "event_id": f"[{number}, {{a, b}}]"}
        for number in range(2000)
    ]
    text = json.dumps({"events": events}, indent=1)
    answer = post(served, text, "/v1/events/batch")
    assert answer.status_code == 200, answer.text
    assert {one["status"] for one in answer.json()["results"]} == {"accepted"}


def test_every_action_of_a_large_campaign_can_be_eligible(portal: Any) -> None:
    limits = Limits()
    service = Served(FakeEngine(), dict(KEYS), portal, limits)
    actions = [f"the-action-with-number-{number}" for number in range(9_000)]
    made = post(service, json.dumps({**CAMPAIGN, "actions": actions}))
    assert made.status_code == 201, made.text
    path = "/v1/campaigns/hero/decisions"
    assert post(service, json.dumps({"eligible": actions}), path).status_code == 201
    many = json.dumps({"context": {"list": [[]] * MAX_EVENT_VALUES}})
    check_problem(post(service, many, path), 413, "too-large")


def test_a_decision_or_report_is_smaller_than_other_bodies(broken: Served) -> None:
    decision = broken.decision()
    large = json.dumps({"unit": "u", "context": {"text": "x" * 10_000}})
    check_problem(post(broken, large, "/v1/campaigns/hero/decisions"), 413, "too-large")
    check_problem(post(broken, large, f"/v1/decisions/{decision}/signal"), 413, "too-large")


def test_brackets_in_a_string_without_an_end_are_read_once() -> None:
    """A search that began again at each quote would take an hour, and all others would wait."""
    body = "b'[' + b'[],' * 70 + b'\"' + b'\\\\\"' * 500_000"
    program = (
        "import msgspec\n"
        "from foretell.service.http.bodies import parse_json\n"
        "from foretell.service.model.errors import Malformed\n"
        f"try:\n    parse_json(msgspec.json.Decoder(), {body})\n"
        "except Malformed:\n    print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "refused\n"


def test_a_context_may_hold_large_numbers_and_any_text(served: Served) -> None:
    served.decision()
    body = b'{"context": {"n": 1180591620717411303424, "\\u0000": "\\ud83d\\ude00"}}'
    made = post(served, body, "/v1/campaigns/hero/decisions")
    assert made.status_code == 201
    history = served.call("GET", made.headers["location"])
    assert history.status_code == 200


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "", "json"])
def test_another_media_type_is_415(served: Served, media: str) -> None:
    body = json.dumps(CAMPAIGN)
    answer = served.call("POST", "/v1/campaigns", content=body, headers={"Content-Type": media})
    check_problem(answer, 415, "wrong-media")


def test_a_compressed_body_is_415(served: Served) -> None:
    check_problem(post(served, b"\x1f\x8b", **{"Content-Encoding": "gzip"}), 415, "wrong-media")


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_may_be_said_in_other_ways(served: Served, media: str) -> None:
    body = json.dumps(CAMPAIGN)
    answer = served.call("POST", "/v1/campaigns", content=body, headers={"Content-Type": media})
    assert answer.status_code == 201


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("after=x", "after"),
        ("after=-1", "after"),
        ("after=99999999999999999999", "after"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=", "limit"),
        ("limit=1&limit=2", "limit"),
        ("offset=3", "choose one of 'after', 'limit'"),
        ("limits=3", "did you mean 'limit'?"),
        ("after=%ff", "UTF-8"),
    ],
)
def test_a_bad_parameter_is_named(served: Served, query: str, named: str) -> None:
    served.decision()
    answer = served.call("GET", f"/v1/campaigns/hero/events?{query}")
    check_problem(answer, 422, "bad-parameter")
    assert named in answer.json()["detail"]


def test_where_nothing_can_be_asked_a_parameter_is_refused(served: Served) -> None:
    served.decision()
    answer = served.call("GET", "/v1/campaigns/hero/report?since=yesterday")
    check_problem(answer, 422, "bad-parameter")
    said = "there is no parameter 'since': this address takes none, leave it out"
    assert answer.json()["detail"] == said
    answer = served.call("POST", "/v1/campaigns/hero/decisions?unit=u1")
    check_problem(answer, 422, "bad-parameter")
    assert served.call("GET", "/livez?probe=1").status_code == 200
