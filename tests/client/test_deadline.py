"""A request ends in time, whatever a server does with it, and takes in no endless answer."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from foretell.client import ServiceUnavailable, replies
from foretell.client.deadline import PhaseTimeouts, enforce_deadline
from tests.client.conftest import PATIENCE, Make, Waiting
from tests.client.fake_service import Service

Misbehave: TypeAlias = Callable[[socket.socket], None]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"


def _slowly(connection: socket.socket, piece: bytes) -> None:
    end = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < end:
        connection.sendall(piece)
        time.sleep(0.01)


def _trickled_head(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    _slowly(connection, b"x")


def _trickled_body(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    _slowly(connection, b" ")


def _endless_body(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    end = time.monotonic() + 2 * PATIENCE
    while time.monotonic() < end:
        connection.sendall(b" " * 65536)


def _never_ready(connection: socket.socket) -> None:
    _slowly(connection, b"HTTP/1.1 100 Continue\r\n\r\n")


@contextlib.contextmanager
def serving(misbehave: Misbehave) -> Iterator[str]:
    """Do this to every connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def one(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                connection.recv(1000)
                misbehave(connection)

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=one, args=(server.accept()[0],), daemon=True).start()

        listening = threading.Thread(target=listen)
        listening.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            listening.join()


@pytest.mark.parametrize("misbehave", [_trickled_head, _trickled_body, _endless_body, _never_ready])
def test_a_decision_ends_in_time(
    make: Make, misbehave: Misbehave, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replies, "MAX_REPLY_BYTES", 2**40)
    with serving(misbehave) as url:
        client = make(url, timeout=0.2, fallback="pick")
        begun = time.monotonic()
        assert client.decide("c").mode == "fallback"
        assert time.monotonic() - begun < PATIENCE


@pytest.mark.parametrize("misbehave", [_trickled_head, _trickled_body, _never_ready])
@pytest.mark.parametrize("name", ["report", "campaign", "pause_campaign", "keys"])
def test_every_other_call_ends_in_time_too(make: Make, misbehave: Misbehave, name: str) -> None:
    with serving(misbehave) as url:
        client = make(url, timeout=0.1, fallback="pick")
        begun = time.monotonic()
        with pytest.raises(ServiceUnavailable, match="no answer within"):
            getattr(client, name)(*([] if name == "keys" else ["c"]))
        assert time.monotonic() - begun < PATIENCE


def test_a_resolver_that_hangs_holds_nobody_up(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    answer = threading.Event()
    resolve = socket.getaddrinfo

    def hanging(host: str, *args: Any, **more: Any) -> Any:
        if host != "slow.example":
            return resolve(host, *args, **more)
        asked.append(host)
        answer.wait(2 * PATIENCE)
        raise socket.gaierror("there is no such host")

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    client = make("http://slow.example:8000", timeout=0.1, fallback="pick")
    begun = time.monotonic()
    assert [client.decide("c").mode for _ in range(5)] == ["fallback"] * 5
    assert time.monotonic() - begun < PATIENCE
    if not isinstance(client, Waiting):
        assert asked == ["slow.example"], "it is asked once, whoever waits"
    answer.set()


def test_a_host_with_several_addresses_is_tried_in_the_time_of_one(service: Service) -> None:
    budget = PhaseTimeouts(60.0)
    connect: dict[str, Any] = {"host": "localhost", "port": service.port}
    connect["timeout"] = budget.get("connect")
    enforce_deadline("connection.connect_tcp.started", connect)
    known = {one[4][0] for one in socket.getaddrinfo("localhost", service.port)}
    assert connect["timeout"] <= 60.0 / len(known)
    assert connect["host"] == ("localhost" if len(known) > 1 else known.pop())
    address = {"host": "::1", "port": 1, "timeout": budget.get("connect")}
    enforce_deadline("connection.connect_tcp.started", address)
    assert address["host"] == "::1"


class Slow:
    """A connection that takes its time for each piece."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def read(self, most: int, timeout: float) -> bytes:
        return b""

    def write(self, data: bytes, timeout: float) -> None:
        self.pieces.append(data)
        time.sleep(0.02)


def test_a_long_request_is_written_in_pieces_until_the_time_is_over() -> None:
    stream = Slow()
    enforce_deadline("connection.connect_tcp.complete", {"return_value": stream})
    data = bytes(range(256)) * 400
    stream.write(data, timeout=PhaseTimeouts(60.0).get("write"))
    assert b"".join(stream.pieces) == data
    with pytest.raises(TimeoutError):
        stream.write(data * 100, timeout=PhaseTimeouts(0.1).get("write"))
