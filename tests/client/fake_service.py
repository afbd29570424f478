"""A small fake of the service: real HTTP, the contract in short, and faults on command."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, Self


class Fault(NamedTuple):
    """What goes wrong with one request: wait, then drop it, or answer otherwise."""

    delay: float = 0.0
    drop: bool = False
    """Close the connection before anything is done."""
    lose: bool = False
    """Do it, and close the connection instead of answering."""
    status: int = 0
    body: bytes = b""
    kind: str = "text/html"
    retry_after: str = ""


class Request(NamedTuple):
    """A request as it came."""

    path: str
    key: str | None
    body: Any
    at: float


def problem(status: int, name: str = "problem", detail: str = "it cannot be done") -> Fault:
    """Return the answer by which the service refuses something."""
    body = {"type": f"urn:foretell:problem:{name}", "title": "No", "detail": detail}
    return Fault(status=status, body=json.dumps(body).encode(), kind="application/problem+json")


NEVER = "Mon, 01 Jan 99999999999 00:00:00 GMT"
"""A `Retry-After` beyond every calendar."""

GARBAGE = {
    "not UTF-8": Fault(status=200, body=b'{"decision_id":"\xff"}', kind="application/json"),
    "too deep": Fault(status=200, body=b'{"x":' + b"[" * 200_000, kind="application/json"),
    "too deep a refusal": problem(404)._replace(body=b'{"x":' + b"[" * 200_000),
    "503 for ever": Fault(status=503, retry_after=NEVER),
}
"""Answers that no service gives, and that a client must outlive."""


class Service:
    """Decides, and keeps every event once by its id; `faults` meet the next requests in turn."""

    def __init__(self) -> None:
        """Take a free port."""
        self.requests: list[Request] = []
        self.decisions: dict[str, dict[str, Any]] = {}
        self.events: dict[str, dict[str, Any]] = {}
        self.faults: deque[Fault] = deque()
        self.always: Fault | None = None
        self.verdict: Callable[[dict[str, Any]], dict[str, Any]] | None = None
        self.refuse: Callable[[list[dict[str, Any]]], Fault | None] = lambda events: None
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> Self:
        """Listen."""
        self._server = _Server(("127.0.0.1", self.port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening, and cut every connection."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the client may have cut it
                    connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def batches(self) -> list[list[str]]:
        """Return the ids of each batch that came, answered or not."""
        return [
            [event["event_id"] for event in request.body["events"]]
            for request in self.requests
            if request.path == "/v1/events/batch"
        ]

    def handle(self, path: str, body: Any) -> tuple[int, Any]:
        """Do what is asked."""
        if path == "/v1/events/batch":
            return 200, {"results": [self._take(event) for event in body["events"]]}
        if path.endswith("/decisions"):
            key = body["decision_key"]
            new = key not in self.decisions
            answer = {
                "decision_id": f"decision-{key}",
                "action": (body.get("eligible") or ["book-a"])[0],
                "propensity": 0.5,
                "policy": "nsd-adaptive",
                "reward_due_at": "2027-01-01T00:00:00Z",
                "mode": "policy",
            }
            return 201 if new else 200, self.decisions.setdefault(key, answer)
        if path == "/v1/campaigns":
            return 201, {**body, "status": "running"}
        return 200, {"campaign": path.split("/")[3], "counts": {}}

    def _take(self, event: dict[str, Any]) -> dict[str, Any]:
        if self.verdict is not None:
            return self.verdict(event)
        status = "duplicate" if event["event_id"] in self.events else "accepted"
        self.events.setdefault(event["event_id"], event)
        return {"status": status, "event_id": event["event_id"]}

    def answer(self, request: Request) -> tuple[Fault | None, int, bytes]:
        """Return the fault of a request, and what the service answers to it."""
        with self._lock:
            self.requests.append(request)
            fault = self.faults.popleft() if self.faults else self.always
            if fault is None and request.path == "/v1/events/batch":
                fault = self.refuse(request.body["events"])
            if fault is not None and (fault.drop or fault.status):
                return fault, fault.status, fault.body
            status, body = self.handle(request.path, request.body)
            return fault, status, json.dumps(body).encode()

    def connected(self, connection: socket.socket, *, on: bool) -> None:
        """Note a connection that came or went."""
        with self._lock:
            (self._open.add if on else self._open.discard)(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], service: Service) -> None:
        self.service = service
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.service.connected(self.connection, on=True)

    def finish(self) -> None:
        self.server.service.connected(self.connection, on=False)
        super().finish()

    def handle(self) -> None:
        try:
            super().handle()
        except (ConnectionError, ValueError):
            self.close_connection = True

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = json.loads(text) if text else None
        request = Request(self.path, self.headers.get("Authorization"), body, time.monotonic())
        fault, status, answer = self.server.service.answer(request)
        if fault is not None:
            time.sleep(fault.delay)
            if fault.drop or fault.lose:
                self.close_connection = True
                return
        self.send_response(status)
        kind = fault.kind if fault and fault.status else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(answer)))
        if fault is not None and fault.retry_after:
            self.send_header("Retry-After", fault.retry_after)
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST  # noqa: N815 - the names of the standard library

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass
