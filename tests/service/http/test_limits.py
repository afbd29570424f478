"""What is too much, too deep or no JSON is refused cleanly, before anything is done with it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from foretell import protocol
from foretell.service.http import files
from foretell.service.http.limits import DEEPEST
from tests.service.http.conftest import CAMPAIGN, SMALL, Served
from tests.service.http.standin import StandIn

JSON = {"Content-Type": "application/json"}


def post(served: Served, content: Any, path: str = "/v1/campaigns", **headers: str) -> Any:
    return served.call("POST", path, content=content, headers={**JSON, **headers})


def problem(answer: Any, status: int, name: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert body["type"] == f"urn:foretell:problem:{name}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]


def test_a_body_that_says_it_is_too_large_is_not_read(served: Served) -> None:
    def body() -> Iterator[bytes]:
        raise AssertionError("the body was read")
        yield b""

    length = str(SMALL.body + 1)
    problem(post(served, body(), **{"Content-Length": length}), 413, "too-large")
    problem(post(served, body(), **{"Content-Length": "9" * 30}), 413, "too-large")
    problem(post(served, body(), **{"Content-Length": "many"}), 400, "malformed")


def test_a_body_that_grows_too_large_is_not_read_to_its_end() -> None:
    """An endless body is refused as soon as it is too large."""
    from starlette.types import Message

    from foretell.service.http.body import read
    from foretell.service.model.errors import TooLarge

    sent = 0

    async def receive() -> Message:
        nonlocal sent
        sent += 100
        return {"type": "http.request", "body": bytes(100), "more_body": True}

    with pytest.raises(TooLarge, match="at most 1000 bytes"):
        asyncio.run(read(receive, {}, 1000))
    assert sent <= 1200


def test_a_body_in_pieces_is_put_together(served: Served) -> None:
    text = json.dumps(CAMPAIGN).encode()
    assert post(served, (text[i : i + 7] for i in range(0, len(text), 7))).status_code == 201


def test_a_body_of_the_limit_passes(served: Served) -> None:
    text = json.dumps(CAMPAIGN).encode().ljust(SMALL.body)
    assert post(served, text).status_code == 201
    problem(post(served, text + b" "), 413, "too-large")


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
    problem(post(served, body), 400, "malformed")


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
    problem(post(served, json.dumps({**CAMPAIGN, **change})), 422, "unusable")


def test_a_name_that_is_none_is_refused_in_words(served: Served) -> None:
    answer = post(served, json.dumps({**CAMPAIGN, "name": "a/b"}))
    assert "Expected a name of at most 100 letters" in answer.json()["detail"]
    assert "regex" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", "/v1/keys", {"name": "k", "scopes": ["root"]}, "'decide', 'feedback', 'read'"),
        ("PATCH", "/v1/campaigns/hero", {"signal_silence": "x"}, "'default', 'unknown'"),
        ("PATCH", "/v1/campaigns/hero/actions/a", {"status": "x"}, "'active', 'paused', 'retired'"),
        ("GET", "/v1/campaigns/hero/export?format=csv", None, "'ndjson', 'parquet'"),
    ],
)
def test_the_words_that_would_do_are_listed(
    served: Served, method: str, path: str, body: Any, said: str
) -> None:
    served.decision()
    answer = served.call(method, path, json=body)
    assert answer.status_code in {400, 422}
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1" + b"0" * 400])
def test_a_number_beyond_floats_is_422(served: Served, number: bytes) -> None:
    body = json.dumps({**CAMPAIGN, "default_reward": 0.5}).encode().replace(b"0.5", number)
    problem(post(served, body), 422, "unusable")
    path = f"/v1/decisions/{served.decision()}/reward"
    problem(post(served, b'{"value": %s}' % number, path), 422, "unusable")


def test_a_context_has_a_greatest_depth(served: Served) -> None:
    served.decision()
    path = "/v1/campaigns/hero/decisions"
    for depth, status in ((DEEPEST, 201), (DEEPEST + 1, 400), (900, 400), (3_000, 400)):
        inside = b"[" * (depth - 2) + b"]" * (depth - 2)
        answer = post(served, b'{"context": {"a": %s}}' % inside, path)
        assert answer.status_code == status, depth
    flat = b'{"context": {"a": [%s], "b": "%s"}}' % (b",".join([b"{}"] * 500), b"[" * 500)
    assert post(served, flat, path).status_code == 201


def test_brackets_in_a_string_without_an_end_are_read_once() -> None:
    """A search that began anew at each quote would take an hour, and all others would wait."""
    body = "b'[' + b'[],' * 70 + b'\"' + b'\\\\\"' * 500_000"
    program = (
        "import msgspec\n"
        "from foretell.service.http.body import parse\n"
        "from foretell.service.model.errors import Malformed\n"
        f"try:\n    parse(msgspec.json.Decoder(), {body})\n"
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
    problem(answer, 415, "wrong-media")


def test_a_compressed_body_is_415(served: Served) -> None:
    problem(post(served, b"\x1f\x8b", **{"Content-Encoding": "gzip"}), 415, "wrong-media")


@pytest.mark.parametrize("media", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_may_be_said_in_other_ways(served: Served, media: str) -> None:
    body = json.dumps(CAMPAIGN)
    answer = served.call("POST", "/v1/campaigns", content=body, headers={"Content-Type": media})
    assert answer.status_code == 201


def test_unknown_addresses_are_404_and_wrong_methods_405(served: Served) -> None:
    for path in ("/", "/v1", "/v1/nothing", "/v1/campaigns/", "/livez/", "/V1/campaigns"):
        problem(served.call("GET", path), 404, "not-found")
    answer = served.call("PUT", "/v1/campaigns")
    problem(answer, 405, "wrong-method")
    assert answer.headers["allow"] == "GET, HEAD, POST"
    answer = served.call("GET", "/v1/events/batch")
    problem(answer, 405, "wrong-method")
    assert answer.headers["allow"] == "POST"


def test_head_is_get_without_its_body(served: Served) -> None:
    served.decision()
    for path in ("/livez", "/v1/campaigns", "/v1/campaigns/hero", "/docs"):
        head, get = served.call("HEAD", path), served.call("GET", path)
        assert head.status_code == get.status_code == 200
        assert head.content == b""
        assert head.headers["content-type"] == get.headers["content-type"]
        assert head.headers["content-length"] == get.headers["content-length"]


@pytest.mark.parametrize("path", ["/v1/backup", "/v1/campaigns/hero/export?format=parquet"])
def test_head_of_a_file_writes_no_file(
    broken: Served, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken.decision()
    get = broken.call("GET", path)
    monkeypatch.setattr(files, "TemporaryDirectory", None)
    head = broken.call("HEAD", path)
    assert head.status_code == 200
    assert head.content == b""
    for name in ("content-type", "content-disposition"):
        assert head.headers[name] == get.headers[name]


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
        ("offset=3", "after, limit"),
        ("after=%ff", "UTF-8"),
    ],
)
def test_a_bad_parameter_is_named(served: Served, query: str, named: str) -> None:
    served.decision()
    answer = served.call("GET", f"/v1/campaigns/hero/events?{query}")
    problem(answer, 422, "bad-parameter")
    assert named in answer.json()["detail"]


def test_where_nothing_can_be_asked_a_parameter_is_refused(served: Served) -> None:
    served.decision()
    answer = served.call("GET", "/v1/campaigns/hero/report?since=yesterday")
    problem(answer, 422, "bad-parameter")
    assert answer.json()["detail"] == "there is no such parameter: this address takes none"
    answer = served.call("POST", "/v1/campaigns/hero/decisions?unit=u1")
    problem(answer, 422, "bad-parameter")
    assert served.call("GET", "/livez?probe=1").status_code == 200


def test_more_requests_than_are_allowed_at_once_are_429(
    broken: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, go_on, full = [], asyncio.Event(), asyncio.Event()

    async def wait(self: StandIn, name: str) -> protocol.CampaignReport:
        inside.append(name)
        if len(inside) == SMALL.in_flight:
            full.set()
        await go_on.wait()
        return await report(self, name)

    report = StandIn.report
    monkeypatch.setattr(StandIn, "report", wait)
    broken.decision()
    portal = broken.client.portal
    assert portal is not None

    async def crowd() -> tuple[list[int], Any]:
        from httpx2 import ASGITransport, AsyncClient

        headers = {"Authorization": f"Bearer {broken.keys['read']}"}
        transport = ASGITransport(broken.client.app)
        async with AsyncClient(transport=transport, base_url="http://test") as client:
            path = "/v1/campaigns/hero/report"
            first = [asyncio.ensure_future(client.get(path, headers=headers)) for _ in range(3)]
            await full.wait()
            refused = await client.get(path, headers=headers)
            alive = await client.get("/livez")
            go_on.set()
            codes = [(await one).status_code for one in first] + [alive.status_code]
            monkeypatch.setattr(StandIn, "report", report)
            codes.append((await client.get(path, headers=headers)).status_code)
            return codes, refused

    codes, refused = portal.call(crowd)
    problem(refused, 429, "overloaded")
    assert int(refused.headers["retry-after"]) >= 1
    assert codes == [200] * 5


def test_a_closed_log_is_503_and_not_ready(broken: Served) -> None:
    decision = broken.decision()
    assert isinstance(broken.engine, StandIn)
    broken.engine.open = False
    for path, body in (
        ("/v1/campaigns/hero/decisions", {}),
        (f"/v1/decisions/{decision}/signal", {"signal": "click"}),
        ("/v1/events/batch", {"events": [{"decision_id": decision, "value": 1}]}),
    ):
        answer = broken.call("POST", path, json=body)
        problem(answer, 503, "log-closed")
        assert int(answer.headers["retry-after"]) >= 1
    ready = broken.client.get("/readyz")
    problem(ready, 503, "log-closed")
    assert "the disk is full" in ready.json()["detail"]
    assert broken.client.get("/livez").status_code == 200
    broken.engine.open = True
    assert broken.client.get("/readyz").json()["status"] == "ok"
