"""A head that comes again on its connection is not parsed again, and nobody can tell.

Each request is answered on a kept connection, whatever came before it there, as it is answered on a
connection of its own.
"""

from __future__ import annotations

import asyncio
import itertools

import pytest

from foretell import protocol
from foretell.service.http import Limits
from foretell.service.http import connection as rules
from foretell.service.http.request_reader import LONGEST_KEPT_HEAD, RequestReader
from tests.service.http.raw_server import HEAD, KEYED, RawAnswer, RawServer, one_answer, served


def ask(body: bytes = b"{}", head: bytes = KEYED, more: bytes = b"") -> bytes:
    return head + more + b"Content-Length: %d\r\n\r\n" % len(body) + body


CHUNKED = KEYED + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
REQUESTS = {
    "a decision": ask(),
    "a longer body": ask(b'{"unit": "u1"}'),
    "as long, and unusable": ask(b'{"unit": 1234}'),
    "blank lines in the body": ask(b"{\r\n\r\n\r\n\r\n}"),
    "no JSON": ask(b"{["),
    "no key": ask(head=HEAD + b"Content-Type: application/json\r\n"),
    "another media type": ask(head=KEYED.replace(b"application/json", b"text/plain")),
    "its own id": ask(more=b"X-Request-Id: r1\r\n"),
    "an upgrade": ask(b"", more=b"Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    "chunks": CHUNKED,
    "a long head": ask(more=b"X-Long: " + b"x" * LONGEST_KEPT_HEAD + b"\r\n"),
    "no body": b"GET /livez HTTP/1.1\r\nHost: here\r\n\r\n",
    "no address": b"GET /nothing HTTP/1.1\r\nHost: here\r\n\r\n",
    "a blank line before it": b"\r\n" + ask(),
}


def shown(answer: RawAnswer | None, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Return what does not differ from one answer to the same request to the next."""
    assert answer is not None
    headers = dict(answer.headers)
    if b"X-Request-Id" not in request:
        assert headers.pop("x-request-id")
    if answer.status == 201:  # each decision is another one
        assert headers.pop("location")
        assert int(headers.pop("content-length")) == len(answer.body) > 100
        return answer.status, headers, b""
    return answer.status, headers, answer.body


async def alone(server: RawServer, request: bytes) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await server.connect()
    writer.write(request)
    answer = shown(await one_answer(reader), request)
    writer.close()
    return answer


def test_a_kept_connection_answers_as_a_new_one_does() -> None:
    """Every request comes after itself, and after and before every other."""

    async def work(server: RawServer) -> None:
        wanted = {name: await alone(server, request) for name, request in REQUESTS.items()}
        reader, writer = await server.connect()
        for names in itertools.product(REQUESTS, repeat=2):
            for name in (*names, names[1]):
                writer.write(REQUESTS[name])
                answer = shown(await one_answer(reader), REQUESTS[name])
                assert answer == wanted[name], f"{name} after {names}"
        writer.close()

    served(work)


@pytest.mark.parametrize(
    "parts",
    [
        (ask()[:30], ask()[30:]),
        (ask()[:-1], ask()[-1:]),
        (ask() + ask(),),
        (ask() + ask()[:40], ask()[40:]),
        (ask() + b"\r\n", ask()),
        (b"\r", b"\n" + ask()),
    ],
    ids=["in the head", "in the body", "two", "one and a part", "a blank line", "half a line end"],
)
def test_a_known_head_may_come_in_parts_or_with_others(parts: tuple[bytes, ...]) -> None:
    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        for part in (ask(), ask(), *parts, ask(), ask()):
            writer.write(part)
            await asyncio.sleep(0.01)
        for _ in range(4 + b"".join(parts).count(b"POST")):
            answer = await one_answer(reader)
            assert answer is not None
            assert answer.status == 201
        writer.close()

    served(work)


def test_a_head_is_forgotten_when_another_is_parsed_however_it_came() -> None:
    """A body that comes at once and is longer than headers may be is fed to the parser in parts."""
    large = b'{"context": {"text": "%s"}}' % (b"x" * 100_000)
    expects = ask(large, more=b"Expect: 100-continue\r\n")

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        (connection,) = server.state.connections
        for request in (ask(), ask()):
            writer.write(request)
            assert await one_answer(reader) is not None
        connection.data_received(expects)
        found = []
        while 201 not in found:
            answer = await one_answer(reader)
            assert answer is not None
            found.append(answer.status)
        writer.write(ask())
        answer = await one_answer(reader)
        assert answer is not None
        assert answer.status == 201, "only the request that asked for it is told to go on"
        writer.close()

    served(work)


def test_line_ends_between_requests_are_no_head() -> None:
    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        for sent in (b"GET /livez HTTP/1.1\r\nHost: here\r\n\r\n", b"\r\n\r"):
            writer.write(sent)
            await asyncio.sleep(0.01)
        assert await one_answer(reader) is not None
        writer.write(b"\nGET /livez HTTP/1.1\r\nHost: here\r\n\r\n")
        assert await one_answer(reader) is not None
        writer.write(b"\r\n\r")
        await asyncio.sleep(0.05)
        writer.write_eof()
        assert await one_answer(reader) is None
        writer.close()

    served(work)


def test_the_same_head_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[RequestReader] = []
    parse = RequestReader.on_headers_complete

    def counted(reader: RequestReader) -> None:
        parsed.append(reader)
        parse(reader)

    monkeypatch.setattr(RequestReader, "on_headers_complete", counted)

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        ids = set()
        for body in (b"{}", b"{}", b"[]", b"{}"):
            writer.write(ask(body))
            answer = await one_answer(reader)
            assert answer is not None
            assert answer.status == (201 if body == b"{}" else 422)
            ids.add(answer.headers["x-request-id"])
        writer.close()
        assert (len(parsed), len(ids)) == (1, 4)

    served(work)


def test_a_known_head_is_checked_each_time() -> None:
    """The budget may be used up meanwhile."""

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        found = []
        for _ in range(3):
            writer.write(ask())
            answer = await one_answer(reader)
            assert answer is not None
            found.append(answer.status)
        writer.close()
        assert found == [201, 201, 429]

    served(work, Limits(key_requests=2.0))


@pytest.mark.parametrize(("again", "status"), [(None, 401), ("decide", 201), ("feedback", 403)])
def test_a_key_that_was_let_in_before_is_looked_up_again(
    again: protocol.Scope | None, status: int
) -> None:
    """It is revoked, and then perhaps made again with the same or another scope."""

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        callers = server.engine.callers
        known = callers["ftk_decide"]
        found = []
        for _ in range(3):
            writer.write(ask())
            answer = await one_answer(reader)
            assert answer is not None
            found.append(answer.status)
            if len(found) == 2:
                del callers["ftk_decide"]
                if again is not None:
                    callers["ftk_decide"] = known._replace(scopes=frozenset({again}))
        writer.close()
        assert found == [201, 201, status]

    served(work)


def test_one_timer_closes_a_connection_that_was_busy_and_is_idle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    keep_alive = rules.Connection._keep_alive

    def counted(connection: rules.Connection, seconds: float) -> None:
        waits.append(seconds)
        keep_alive(connection, seconds)

    monkeypatch.setattr(rules.Connection, "_keep_alive", counted)

    async def work(server: RawServer) -> None:
        reader, writer = await server.connect()
        (connection,) = server.state.connections
        connection.timeout_keep_alive = 0.3  # type: ignore[union-attr]
        for _ in range(5):
            writer.write(ask())
            assert await one_answer(reader) is not None
        async with asyncio.timeout(20):
            assert await reader.read() == b""
        writer.close()
        assert waits[0] == 0.3
        assert len(waits) <= 3

    served(work)
