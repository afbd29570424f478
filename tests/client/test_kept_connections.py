"""A kept connection reads every answer of HTTP/1.1, and is used again only where it may be."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from foretell.client import kept_connections
from foretell.client.address import ServiceAddress
from foretell.client.backoff import RetryBudget
from foretell.client.calls import ApiCall, HttpReply
from foretell.client.kept_connections import KeptConnection, KeptConnections
from foretell.client.transport import SyncTransport

CALL = ApiCall("POST", "/v1/x", b"{}")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
Script = list[tuple[bytes, ...]]
"""For each request on a connection, the parts of its answer; an empty part closes."""


class Scripted:
    """A server that answers by a script, and counts connections and requests."""

    def __init__(self, scripts: list[Script]) -> None:
        self._scripts = scripts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        self.ended = threading.Event()
        """Set when a connection is closed."""
        self.requests: list[bytes] = []
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/base"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        for script in self._scripts:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with connection:
                self._answer(connection, script)
            self.ended.set()

    def _answer(self, connection: socket.socket, script: Script) -> None:
        for parts in script:
            request = b""
            while not request.endswith(b"{}"):
                got = connection.recv(65536)
                if not got:
                    return
                request += got
            self.requests.append(request)
            for part in parts:
                if not part:
                    return
                connection.sendall(part)
                time.sleep(0.005)
        connection.recv(1)

    def close(self) -> None:
        self._listener.close()


@contextmanager
def scripted(*scripts: Script) -> Iterator[tuple[Scripted, Callable[[], HttpReply]]]:
    server = Scripted(list(scripts))
    kept = KeptConnections(ServiceAddress.of(server.url, "ftk_abc"))
    try:
        yield server, lambda: kept.send(CALL, RetryBudget(20.0))
    finally:
        kept.close()
        server.close()


CHUNKS = b"4;x=y\r\nchun\r\n3\r\nks!\r\n0\r\nX-After: 1\r\n\r\n"
ANSWERS = {
    "a length": (OK, HttpReply(200, b"ok"), True),
    "no body": (b"HTTP/1.1 204 No Content\r\n\r\n", HttpReply(204, b""), True),
    "headers": (
        b"HTTP/1.1 503 Busy\r\nretry-AFTER:  7 \r\nContent-Type: a/b\r\nContent-Length: 0\r\n\r\n",
        HttpReply(503, b"", "a/b", "7"),
        True,
    ),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n" + CHUNKS,
        HttpReply(200, b"chunks!"),
        True,
    ),
    "it goes on": (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, HttpReply(200, b"ok"), True),
    "closed by both": (
        b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 2\r\n\r\nok",
        HttpReply(200, b"ok"),
        False,
    ),
    "an older version": (
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        HttpReply(200, b"ok"),
        False,
    ),
    "more than was asked for": (OK + b"HTTP/1.1", HttpReply(200, b"ok"), False),
}


@pytest.mark.parametrize("pieces", [1, 7], ids=["whole", "in pieces"])
@pytest.mark.parametrize("name", ANSWERS)
def test_every_answer_is_read(name: str, pieces: int) -> None:
    answer, wanted, keeps = ANSWERS[name]
    size = -(-len(answer) // pieces)
    parts = tuple(answer[start : start + size] for start in range(0, len(answer), size))
    with scripted([parts, (OK,)], [(OK,)]) as (server, send):
        assert send() == wanted
        if name != "more than was asked for" or pieces == 1:
            assert send() == HttpReply(200, b"ok")
            assert server.connections == (1 if keeps else 2)
    first = server.requests[0]
    assert first.startswith(b"POST /base/v1/x HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Bearer ftk_abc\r\n" in first
    assert first.endswith(b"\r\nContent-Length: 2\r\n\r\n{}")


def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    with scripted([(b"HTTP/1.1 200 OK\r\n\r\nto the ", b"end", b"")], [(OK,)]) as (server, send):
        assert send() == HttpReply(200, b"to the end")
        assert send() == HttpReply(200, b"ok")
        assert server.connections == 2


def test_a_long_answer_is_read_whole() -> None:
    long = bytes(range(256)) * 4096
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(long) + long
    with scripted([(answer[:100_000], answer[100_000:]), (OK,)]) as (server, send):
        assert send() == HttpReply(200, long)
        assert send() == HttpReply(200, b"ok")
        assert server.connections == 1


class SlowSocket:
    """Stands for a socket whose every part comes after a while, and notes its timeouts."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = iter(parts)
        self.timeouts: list[float] = []

    def fileno(self) -> int:
        return 0

    def settimeout(self, seconds: float) -> None:
        self.timeouts.append(seconds)

    def send(self, part: bytes) -> int:
        return len(part)

    def recv(self, _: int) -> bytes:
        time.sleep(0.02)
        return next(self._parts)


def test_the_timeout_is_set_again_when_less_time_is_left() -> None:
    opened = SlowSocket(OK[:-1], OK[-1:], OK)
    connection = KeptConnection(cast("socket.socket", opened))
    assert connection.send(b"x", RetryBudget(50.0)) == HttpReply(200, b"ok")
    whole, rest = opened.timeouts
    assert whole == pytest.approx(50.0, abs=1.0)
    assert rest <= whole - 0.019
    with pytest.raises(TimeoutError):
        connection.send(b"x", RetryBudget(0.0))


def test_a_connection_that_was_closed_meanwhile_is_not_used_again() -> None:
    with scripted([(OK, b"")], [(OK,)]) as (server, send):
        assert send() == HttpReply(200, b"ok")
        assert server.ended.wait(20.0)
        assert send() == HttpReply(200, b"ok")
        assert server.connections == 2


@pytest.mark.parametrize(
    "answer",
    [b"SSH-2.0 here\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"],
)  # fmt: skip
def test_what_is_no_answer_is_refused(answer: bytes) -> None:
    with scripted([(answer,)], [(OK,)]) as (server, send):
        with pytest.raises(ValueError, match="the answer"):
            send()
        assert send() == HttpReply(200, b"ok")
        assert server.connections == 2


def test_an_answer_that_is_cut_off_or_endless_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted([(OK[:-1], b"")]) as (_, send), pytest.raises(ConnectionError, match="whole"):
        send()
    monkeypatch.setattr(kept_connections, "MAX_HEAD_BYTES", 100)
    endless = b"HTTP/1.1 200 OK\r\n" + b"x" * 200
    with scripted([(endless,)]) as (_, send), pytest.raises(ValueError, match="the answer"):
        send()


def test_every_address_of_a_host_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Scripted([[(OK,)]])
    url = server.url.replace("127.0.0.1", "localhost")
    monkeypatch.setattr(
        kept_connections, "resolved", lambda *_: ["127.0.0.2", "127.0.0.3", "127.0.0.1"]
    )
    kept = KeptConnections(ServiceAddress.of(url, None))
    assert kept.send(CALL, RetryBudget(20.0)) == HttpReply(200, b"ok")
    kept.close()
    server.close()


def test_where_there_is_a_proxy_the_library_finds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request goes to the proxy, with the whole address in its first line."""
    server = Scripted([[(OK,)]])
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/base"))
    monkeypatch.setenv("no_proxy", "")
    transport = SyncTransport(ServiceAddress.of("http://service.invalid", None))
    assert transport.send(CALL, 20.0) == HttpReply(200, b"ok")
    assert server.requests[0].startswith(b"POST http://service.invalid/v1/x HTTP/1.1\r\n")
    transport.close()
    server.close()
