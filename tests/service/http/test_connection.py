"""Whatever a stranger sends, and however slowly, the connection answers in words and closes."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import struct

import pytest
import uvloop

from foretell import protocol
from foretell.service.http import Limits, endpoint
from foretell.service.http import connection as rules
from tests.service.http.fake_engine import FakeEngine
from tests.service.http.raw_server import (
    HEAD,
    KEYED,
    RawServer,
    answers,
    one_answer,
    served,
)

LOOPS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
QUICK = Limits(header_seconds=0.2, body_seconds=0.2)
CHUNKED = KEYED + b"Transfer-Encoding: chunked\r\n\r\n"


async def pour(server: RawServer, begin: bytes, part: bytes, most: int = 64 << 20) -> int:
    """Send without end; return how much was sent when the server had enough."""
    _, writer = await server.connect()
    writer.write(begin)
    sent = 0
    try:
        async with asyncio.timeout(20):
            while sent < most:
                writer.write(part * 4)
                await writer.drain()
                sent += 4 * len(part)
    except ConnectionError:
        pass
    finally:
        writer.transport.abort()
    return sent


ENDLESS = {
    "headers": (HEAD, b"X-Header: something\r\n" * 3000),
    "header": (HEAD + b"X-Long: ", b"x" * 65536),
    "name of a header": (HEAD, b"x" * 65536),
    "address": (b"GET /", b"x" * 65536),
    "method": (b"", b"G" * 65536),
    "line ends": (b"", b"\r\n" * 32768),
    "trailers": (CHUNKED + b"0\r\n", b"X-Trailer: something\r\n" * 3000),
    "trailer": (CHUNKED + b"0\r\nX-Long: ", b"x" * 65536),
    "chunk extension": (CHUNKED + b"2;x=", b"x" * 65536),
    "body without a key": (HEAD + b"Content-Length: 99999999999\r\n\r\n", b"x" * 65536),
    "waiting requests": (b"", b"GET /livez HTTP/1.1\r\nHost: here\r\n\r\n" * 3000),
}


@LOOPS
@pytest.mark.parametrize("what", list(ENDLESS))
def test_what_has_no_end_is_cut_off(
    what: str,
    run: object,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(rules, "LINGER_SECONDS", 0.05)
    begin, part = ENDLESS[what]

    async def work(server: RawServer) -> None:
        assert await pour(server, begin, part) < 64 << 20

    served(work, run=run)
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(
    ("sent", "status", "name"),
    [
        (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n", 414, "address-too-long"),
        (HEAD + b"X: y\r\n" * 100 + b"\r\n", 431, "headers-too-large"),
        (HEAD + b"X: " + b"y" * 70_000 + b"\r\n\r\n", 431, "headers-too-large"),
        (CHUNKED + b"0\r\n" + b"X: y\r\n" * 100 + b"\r\n", 431, "headers-too-large"),
        (CHUNKED + b"2;" + b"x" * 140_000 + b"\r\n{}\r\n0\r\n\r\n", 413, "too-large"),
        (b"nonsense\r\n\r\n", 400, "bad-request"),
        (b"FETCH / HTTP/1.1\r\n\r\n", 400, "bad-request"),
        (b"GET / HTTP/9.9\r\n\r\n", 400, "bad-request"),
        (b"GET /livez HTTP/2.0\r\nHost: here\r\n\r\n", 400, "bad-request"),
        (b"GET /livez HTTP/0.9\r\nHost: here\r\n\r\n", 400, "bad-request"),
        (b"GET /livez\r\n\r\n", 400, "bad-request"),
        (b"GET /livez HTTP/1.1\r\n\r\n", 400, "bad-request"),
        (KEYED + b"host: here\r\n\r\n", 400, "bad-request"),
        (b"GET /livez HTTP/1.0\r\nHost: here\r\nHost: there\r\n\r\n", 400, "bad-request"),
        (KEYED + b"Transfer-Encoding: gzip, Chunked\r\n\r\n", 501, "unknown-coding"),
        (KEYED + b"Transfer-Encoding: gzip\r\n" + CHUNKED[len(KEYED):] + b"2\r\n{}\r\n0\r\n\r\n",
         501, "unknown-coding"),
        (KEYED + b"Transfer-Encoding: chunked, gzip\r\n\r\n", 400, "bad-request"),
        (KEYED + b"Transfer-Encoding: identity\r\n\r\n", 400, "bad-request"),
        (b"GET /\xff HTTP/1.1\r\n\r\n", 400, "bad-request"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "bad-request"),
        (HEAD + b"Content-Length: many\r\n\r\n", 400, "bad-request"),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", 400, "bad-request"),
        (HEAD + b"bad header\r\n\r\n", 400, "bad-request"),
        (CHUNKED + b"zz\r\n{}\r\n", 400, "bad-request"),
        (KEYED + b"Upgrade: h2c\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\n{}", 400,
         "bad-request"),
    ],
)  # fmt: skip
def test_what_is_refused_is_said_in_words(sent: bytes, status: int, name: str) -> None:
    async def work(server: RawServer) -> None:
        (answer,) = await server.send(sent)
        detail = answer.check_problem(status, name)
        assert ": " in detail
        assert not {"llhttp", "Expected", "callback"} & set(detail.split())
        assert answer.headers["connection"] == "close"
        assert server.counted("none", status) or server.counted("decide", status)

    served(work)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /livez HTTP/1.0\r\n\r\n",
        b"GET /livez HTTP/1.0\r\nHost: here\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
        HEAD + b"Transfer-Encoding: Chunked \r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_what_says_enough_about_itself_is_answered(sent: bytes) -> None:
    async def work(server: RawServer) -> None:
        (answer,) = await server.send(sent)
        assert answer.status == (200 if sent.startswith(b"GET") else 401)

    served(work)


def test_as_much_as_is_allowed_is_read() -> None:
    async def work(server: RawServer) -> None:
        many = b"".join(b"X-%d: y\r\n" % number for number in range(95))
        sent = KEYED + many + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
        (answer,) = await server.send(sent)
        assert answer.status == 201
        long = b"X-Long: " + b"y" * 60_000 + b"\r\n"
        (answer,) = await server.send(KEYED + long + b"Connection: close\r\n\r\n")
        assert answer.status == 201

    served(work)


def test_a_body_in_tiny_chunks_is_read_and_its_trailers_are_not_headers() -> None:
    body = json.dumps({"context": {"text": "x" * 20_000}}).encode()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    trailers = b"0\r\nAuthorization: Bearer ftk_admin\r\n\r\n"

    async def work(server: RawServer) -> None:
        (answer,) = await server.send(CHUNKED + chunks + trailers + b"GET bad", close=True)
        assert answer.status == 201

    served(work)


@pytest.mark.parametrize(
    ("parts", "name"),
    [([b"GET /livez HTTP/1.1\r\n", b"Host: "], "timeout"), ([CHUNKED, b"2\r\n{"], "timeout")],
)
def test_what_does_not_come_in_time_is_408(parts: list[bytes], name: str) -> None:
    async def work(server: RawServer) -> None:
        (answer,) = await server.send(*parts)
        answer.check_problem(408, name)

    served(work, QUICK)


@pytest.mark.parametrize("drip", [b"", b"\r\n", b"X: y\r\n"], ids=["nothing", "lines", "headers"])
def test_a_connection_that_drips_is_closed_all_the_same(drip: bytes) -> None:
    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        if drip == b"X: y\r\n":
            writer.write(b"GET /livez HTTP/1.1\r\n")

        async def go_on() -> None:
            while True:
                await asyncio.sleep(0.02)
                writer.write(drip)

        going = asyncio.create_task(go_on())
        try:
            await answers(reader)
        finally:
            going.cancel()
            writer.close()

    served(work, QUICK)


def test_a_large_body_is_given_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes for twice the time that a body has, and one byte a second would not do."""
    monkeypatch.setattr(rules, "BYTES_A_SECOND", 1000)
    body = json.dumps({"context": {"text": "x" * 8_000}}).encode()

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        writer.write(KEYED + b"Content-Length: %d\r\n\r\n" % len(body))
        for start in range(0, len(body), 1000):
            writer.write(body[start : start + 1000])
            await asyncio.sleep(0.05)
        answer = await one_answer(reader)
        assert answer is not None
        assert answer.status == 201
        writer.close()

    served(work, Limits(body_seconds=0.2))


def test_an_answer_that_takes_long_is_not_hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = FakeEngine.decide

    async def slow(
        self: FakeEngine, campaign: str, request: protocol.DecisionRequest
    ) -> tuple[protocol.DecisionAnswer, bool]:
        await asyncio.sleep(0.6)
        return await decide(self, campaign, request)

    monkeypatch.setattr(FakeEngine, "decide", slow)

    async def work(server: RawServer) -> None:
        (answer,) = await server.send(KEYED + b"Content-Length: 2\r\nConnection: close\r\n\r\n{}")
        assert answer.status == 201

    served(work, QUICK)


@LOOPS
@pytest.mark.parametrize("requests", [1, 3])
def test_a_client_that_closed_its_side_gets_its_answers(run: object, requests: int) -> None:
    async def work(server: RawServer) -> None:
        sent = (KEYED + b"Content-Length: 2\r\n\r\n{}") * requests
        found = await server.send(sent, close=True)
        assert [one.status for one in found] == [201] * requests

    served(work, run=run)


@LOOPS
def test_a_client_that_closed_amid_its_body_is_gone(run: object) -> None:
    async def work(server: RawServer) -> None:
        assert await server.send(KEYED + b"Content-Length: 9\r\n\r\n{", close=True) == []
        while not server.counted("decide", 499):  # noqa: ASYNC110  (nobody says when)
            await asyncio.sleep(0.01)

    served(work, run=run)


def test_answers_come_before_the_refusal_of_what_follows() -> None:
    async def work(server: RawServer) -> None:
        first = KEYED + b"Content-Length: 2\r\n\r\n{}"
        found = await server.send(first + first + b"nonsense\r\n\r\n")
        assert [one.status for one in found] == [201, 201, 400]
        found = await server.send(first + CHUNKED + b"zz\r\n")
        assert [one.status for one in found] == [201, 400]

    served(work)


@pytest.mark.parametrize("protocol_name", [b"websocket", b"h2c"])
def test_an_upgrade_is_answered_as_if_it_were_none_and_not_logged(
    protocol_name: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "uvicorn")
    upgrade = (
        b"GET /livez HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n"
        % protocol_name
    )
    last = b"GET /livez HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"

    async def work(server: RawServer) -> None:
        found = await server.send(upgrade + upgrade + last)
        assert [one.status for one in found] == [200, 200, 200]
        await server.send(b"nonsense\r\n\r\n")

    served(work)
    assert [one for one in caplog.records if one.name.startswith("uvicorn")] == []


def test_two_keys_are_refused() -> None:
    async def work(server: RawServer) -> None:
        twice = KEYED + b"authorization: Bearer ftk_admin\r\nConnection: close\r\n\r\n"
        (answer,) = await server.send(twice)
        assert answer.check_problem(400, "bad-request") == (
            "the header Authorization came 2 times: send one key"
        )
        other = KEYED + b"X: 1\r\nX: 2\r\nConnection: close\r\n\r\n"
        (answer,) = await server.send(other)
        assert answer.status == 201

    served(work)


def test_a_key_that_is_revoked_amid_a_slow_body_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "SLOW_BODY_SECONDS", 0.0)
    head = KEYED + b"Content-Type: application/json\r\nContent-Length: 2\r\n"

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        writer.write(head + b"Connection: close\r\n\r\n{")
        await asyncio.sleep(0.05)
        server.engine.callers.clear()
        writer.write(b"}")
        (answer,) = await answers(reader)
        answer.check_problem(401, "unauthorized")
        writer.close()

    served(work)


def test_half_sent_bodies_take_neither_the_place_of_others_nor_of_administrators() -> None:
    """More than all places are asked for: one key gets its share, and in time gives it back."""
    half = HEAD.replace(b"campaigns/hero/decisions", b"events/batch")
    half += b"Authorization: Bearer ftk_feedback\r\nContent-Type: application/json\r\n"
    half += b"Content-Length: 100\r\n\r\n{"
    limits = Limits(in_flight=40, in_flight_per_key=20, body_seconds=0.5)

    async def work(server: RawServer) -> None:
        crowd = [await server.connect() for _ in range(41)]
        for _, writer in crowd:
            writer.write(half)
        refused = [reader for reader, _ in crowd[20:]]
        for reader in refused:
            answer = await one_answer(reader)
            assert answer is not None
            assert "of this key" in answer.check_problem(429, "overloaded")
        close = b"Connection: close\r\n\r\n"
        (decided,) = await server.send(KEYED + close)
        assert decided.status == 201
        admin = (
            b"GET /v1/keys HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer ftk_admin\r\n" + close
        )
        (listed,) = await server.send(admin)
        assert listed.status == 200
        for reader, _ in crowd[:20]:
            answer = await one_answer(reader)
            assert answer is not None
            answer.check_problem(408, "timeout")
        whole = half.replace(b": 100", b": 13\r\nConnection: close") + b'"events":[]}'
        (again,) = await server.send(whole)
        assert again.status == 422
        assert server.counted("batch", 408)
        for _, writer in crowd:
            writer.close()

    served(work, limits)


def test_a_client_that_reads_nothing_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "STALL_SECONDS", 0.2)

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        ask = b"GET /docs HTTP/1.1\r\nHost: here\r\n\r\n"
        async with asyncio.timeout(20):
            while server.state.connections or not server.state.total_requests:
                if not writer.transport.is_closing():
                    writer.write(ask)
                await asyncio.sleep(0.001)
        writer.close()
        assert reader is not None

    served(work)


def test_a_connection_that_was_reset_is_forgotten() -> None:
    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        writer.write(b"GET /livez HTTP/1.1\r\nHost: here\r\n\r\n")
        assert await one_answer(reader) is not None
        (connection,) = server.state.connections
        at_once = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        writer.close()
        while server.state.connections:  # noqa: ASYNC110  (nobody says when)
            await asyncio.sleep(0.01)
        assert connection.timeout_keep_alive_task is None  # type: ignore[union-attr]

    served(work)
