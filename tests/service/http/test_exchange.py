"""Every answer bears the id of its request, goes out whole, and can be logged."""

from __future__ import annotations

import asyncio
import logging

import pytest

from foretell.service.http import endpoint
from foretell.service.http.exchange import head_of
from tests.service.http.raw_server import KEYED, RawServer, raw_server, served

CHUNKED = KEYED + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [(b"req-7f.3:a/B+=", True), (b"x" * 128, True), (b"x" * 129, False), (b"a b", False),
     (b"\xc3\xa9", False), (b"", False)],
)  # fmt: skip
def test_every_answer_has_the_id_of_its_request(sent: bytes, kept: bool) -> None:
    ask = b"GET %s HTTP/1.1\r\nHost: here\r\nX-Request-Id: " + sent + b"\r\n%s\r\n"

    async def work(server: RawServer) -> None:
        found = await server.send(
            ask % (b"/livez", b"")
            + ask % (b"/nothing", b"")
            + ask % (b"/v1/campaigns", b"Host: here\r\nbad header\r\n")
        )
        assert [one.status for one in found] == [200, 404, 400]
        ids = [one.headers["x-request-id"] for one in found]
        assert (ids == [sent.decode("latin-1").lower()] * 3) == kept
        assert kept or len(set(ids)) == 3

    served(work)


def test_a_failure_outside_of_every_operation_is_a_problem_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It fails after the answer has begun, of which nothing is on its way yet."""

    async def fail(response: object, *_: object) -> None:
        await _[-1]({"type": "http.response.start", "status": 201, "headers": []})  # type: ignore[operator]
        raise KeyError("nobody foresaw this")

    monkeypatch.setattr(endpoint, "send_response", fail)

    async def work(server: RawServer) -> None:
        (answer,) = await server.send(
            KEYED + b"\r\n" + b"GET /livez HTTP/1.1\r\nHost: here\r\n\r\n"
        )
        answer.check_problem(500, "internal")

    served(work)
    assert "Exception in ASGI application" in caplog.text


def test_a_header_with_a_line_end_is_not_sent() -> None:
    with pytest.raises(RuntimeError, match="line end"):
        head_of(200, [(b"location", b"/x\r\nset-cookie: y")])
    assert head_of(200, [(b"a", b"b"), (b"c", b"d")]) == b"HTTP/1.1 200 OK\r\na: b\r\nc: d\r\n\r\n"


def test_head_and_streams_have_an_id_too() -> None:
    async def work(server: RawServer) -> None:
        key = b"Authorization: Bearer ftk_read\r\nX-Request-Id: r7\r\n\r\n"
        for ask in (b"HEAD /livez", b"GET /v1/campaigns/hero/export"):
            reader, writer = await server.connect()
            writer.write(ask + b" HTTP/1.1\r\nHost: here\r\n" + key)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            assert b"x-request-id: r7\r\n" in head
            writer.close()

    served(work)


def test_an_access_log_says_who_asked_what(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "foretell.access")
    sent = KEYED + b"X-Request-Id: r1\r\nContent-Length: 2\r\n\r\n{}"

    async def work() -> None:
        async with raw_server(access_log=True) as server:
            await server.send(sent + b"GET /nothing HTTP/1.1\r\nHost: here\r\n\r\nnonsense\r\n\r\n")
            await server.send(KEYED + b"Content-Length: 9\r\n\r\n{", close=True)
            (answer,) = await server.send(CHUNKED + b"zz\r\n")
            while len(caplog.records) < 5:  # noqa: ASYNC110  (nobody says when)
                await asyncio.sleep(0.01)
            assert answer.headers["x-request-id"] in {
                vars(one)["request_id"] for one in caplog.records
            }

    asyncio.run(work())
    lines = [vars(one) for one in caplog.records]
    lines.sort(key=lambda line: (line["status"], line.get("operation", "")))
    decided, refused, broken, unknown, gone = lines
    assert decided["request_id"] == "r1"
    assert decided["status"] == 201
    assert decided["bytes"] > 50
    assert decided["seconds"] > 0
    shown = [decided[name] for name in ("operation", "method", "campaign", "key", "client")]
    assert shown == ["decide", "POST", "hero", "decide", "127.0.0.1"]
    assert (unknown["status"], "operation" in unknown) == (404, False)
    assert (refused["status"], refused["client"]) == (400, "127.0.0.1")
    assert (broken["status"], broken["operation"], broken["key"]) == (400, "decide", "decide")
    assert (gone["status"], gone["operation"]) == (499, "decide")
