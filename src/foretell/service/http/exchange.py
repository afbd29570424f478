"""A request and its answer: its head, the id that both bear, and an answer in one piece.

uvicorn writes the head of an answer and its body one after the other, and looks at every header on
the way. An answer that is complete, as nearly all are, is written here at once; and a body that is
there is handed over without waiting for it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import secrets
from collections.abc import Callable, Sequence
from typing import Any, cast

from starlette.types import Receive
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from foretell.service.http.problems import problem_response
from foretell.service.http.responses import Exchanged, Headers, send_response
from foretell.service.model.errors import BadRequest, Internal, UnknownCoding

REQUEST_ID = b"x-request-id"
VERSIONS = frozenset({"1.0", "1.1"})
"""Of HTTP, that are spoken."""
_SANE_ID = re.compile(rb"[\w.:/+=-]{1,128}", re.ASCII)
_PROCESS = secrets.token_hex(6).encode()
_numbers = itertools.count(1)


def new_request_id() -> bytes:
    """Return an id for a request that came without one: no other has it, and it tells nothing."""
    return b"%s-%d" % (_PROCESS, next(_numbers))


def is_sane_id(sent: bytes) -> bool:
    """Return whether the id that a client gave its request can be sent back and logged."""
    return _SANE_ID.fullmatch(sent) is not None


def check_head(version: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raise unless a head is one of HTTP/1.0 or HTTP/1.1, with its host and a body as it is.

    The parser is content with less: a request that names two hosts, or whose body is coded in a way
    that is not read, might be taken for something else by a proxy before the service.
    """
    if version not in VERSIONS:
        raise BadRequest(f"HTTP/{version} is not spoken here: send HTTP/1.1")
    hosts, codings = 0, []
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"transfer-encoding":
            codings += [one.strip().lower() for one in value.split(b",")]
    if hosts > 1 or (not hosts and version == "1.1"):
        raise BadRequest(f"the header Host must come once, and came {hosts} times: send one")
    if codings and codings != [b"chunked"]:
        if codings[-1] != b"chunked":
            raise BadRequest("a body with a Transfer-Encoding must end in chunks: send chunked")
        raise UnknownCoding(
            "the body must come as it is, in chunks or with its length: send no Transfer-Encoding "
            "but chunked"
        )


def head_of(status: int, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return the head of an answer; RuntimeError for a header that would be more than one."""
    lines = b"\r\n".join([b": ".join(header) for header in headers])
    if lines.count(b"\n") >= len(headers) or lines.count(b"\r") >= len(headers):
        raise RuntimeError("a header of an answer has a line end in it")
    return STATUS_LINE[status] + lines + b"\r\n\r\n"


class Exchange(RequestResponseCycle, Exchanged):
    """One request and its answer, which waits for its content and is then sent at once."""

    logger = logging.getLogger("uvicorn.error")
    access_log = False
    disconnected = False
    waiting_for_100_continue = False
    more_body = True
    response_started = False
    response_complete = False
    chunked_encoding = None
    expected_content_length = 0
    _has_news = False
    """Whether more of the body has come, or its end."""
    _event: asyncio.Event | None = None
    _start: Any = None

    def __init__(
        self,
        scope: Any,
        transport: asyncio.Transport,
        flow: FlowControl,
        default_headers: list[tuple[bytes, bytes]],
        request_id: bytes,
        *,
        keep_alive: bool,
        on_response: Callable[[], None],
    ) -> None:
        """Begin; what most requests begin with is in the class."""
        self.scope = scope
        self.transport = transport
        self.flow = flow
        self.default_headers = default_headers
        self.request_id = scope["request_id"] = request_id
        self.keep_alive = keep_alive
        self.on_response = on_response
        self.body: bytes | bytearray = bytearray()  # type: ignore[assignment]

    @property
    def message_event(self) -> asyncio.Event:  # type: ignore[override]
        """What is set when something has come that the application may wait for."""
        if self._event is None:
            self._event = asyncio.Event()
        return self._event

    def take_whole(self, body: bytes) -> None:
        """Take the body, when all of it has come with the head."""
        self.body, self.more_body, self._has_news = body, False, True

    def add_body(self, part: bytes) -> None:
        """Take a part of the body."""
        self.body += part
        self._wake()

    def end_body(self) -> None:
        """Take note that the body is whole."""
        self.more_body = False
        self._wake()

    def _wake(self) -> None:
        self._has_news = True
        if self._event is not None:
            self._event.set()

    def whole_body(self) -> bytes | None:
        """Take the body, if all of it has come; None where it must be waited for."""
        if self.more_body or not self._has_news or self.waiting_for_100_continue:
            return None
        if self.disconnected or self.response_complete:
            return None
        self._has_news = False
        body, self.body = bytes(self.body), b""
        return body

    async def receive(self) -> Any:
        """Return what has come of the body, or wait for more of it."""
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False
        while not (self._has_news or self.disconnected or self.response_complete):
            self.flow.resume_reading()
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        self._has_news = False
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: Any) -> None:
        """Send a part of an answer."""
        start = self._start
        if message["type"] == "http.response.start" and not self.response_started:
            self._start = message
        elif start is None:
            await super().send(message)
        else:
            self._start = None
            content = message.get("body", b"")
            if message.get("more_body") or not self.answer(
                start["status"], start["headers"], content
            ):
                self.default_headers = [*self.default_headers, (REQUEST_ID, self.request_id)]
                await super().send(start)
                await super().send(message)

    async def send_500_response(self) -> None:
        """Answer in place of an application that failed, and close."""
        self.keep_alive = False
        problem = Internal("the service failed at this request: its log says where")
        response = problem_response(problem)
        receive = cast("Receive", self.receive)
        await send_response(response, "none", self.scope["method"], receive, self.send)

    def answer(self, status: int, headers: Headers, content: bytes) -> bool:
        """Send an answer in one piece; return whether that can be done."""
        if self.response_started or self.flow.write_paused or self.scope["method"] == "HEAD":
            return False
        if self.disconnected:
            return True
        lines = [*self.default_headers, (REQUEST_ID, self.request_id), *headers]
        if not self.keep_alive:
            lines.append((b"connection", b"close"))
        self.response_started = True
        self.transport.write(head_of(status, lines) + content)
        self.response_complete = True
        self._wake()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True
