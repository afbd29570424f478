"""A request and its answer: the id that both bear, and an answer that goes out in one piece.

uvicorn writes the head of an answer and its body one after the other, and looks at every header on
the way. An answer that is complete, as nearly all are, is written here at once.
"""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Sequence
from typing import Any, cast

from starlette.types import Receive
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from foretell.service.http.problems import problem_response
from foretell.service.http.responses import send_response
from foretell.service.model.errors import Internal

REQUEST_ID = b"x-request-id"
_SANE_ID = re.compile(rb"[\w.:/+=-]{1,128}", re.ASCII)
_PROCESS = secrets.token_hex(6).encode()
_numbers = itertools.count(1)


def new_request_id() -> bytes:
    """Return an id for a request that came without one: no other has it, and it tells nothing."""
    return b"%s-%d" % (_PROCESS, next(_numbers))


def is_sane_id(sent: bytes) -> bool:
    """Return whether the id that a client gave its request can be sent back and logged."""
    return _SANE_ID.fullmatch(sent) is not None


def head_of(status: int, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return the head of an answer; RuntimeError for a header that would be more than one."""
    lines = b"\r\n".join([b": ".join(header) for header in headers])
    if lines.count(b"\n") >= len(headers) or lines.count(b"\r") >= len(headers):
        raise RuntimeError("a header of an answer has a line end in it")
    return STATUS_LINE[status] + lines + b"\r\n\r\n"


class Exchange(RequestResponseCycle):
    """One request and its answer, which waits for its content and is then sent at once."""

    request_id: bytes
    _start: Any = None

    async def send(self, message: Any) -> None:
        """Send a part of an answer."""
        start = self._start
        if message["type"] == "http.response.start" and not self.response_started:
            self._start = message
        elif start is None:
            await super().send(message)
        else:
            self._start = None
            if message.get("more_body") or self.flow.write_paused or self.scope["method"] == "HEAD":
                self.default_headers = [*self.default_headers, (REQUEST_ID, self.request_id)]
                await super().send(start)
                await super().send(message)
            elif not self.disconnected:
                self._send_whole(start["status"], start["headers"], message.get("body", b""))

    async def send_500_response(self) -> None:
        """Answer in place of an application that failed, and close."""
        self.keep_alive = False
        problem = Internal("the service failed at this request: its log says where")
        response = problem_response(problem)
        receive = cast("Receive", self.receive)
        await send_response(response, "none", self.scope["method"], receive, self.send)

    def _send_whole(self, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
        lines = [*self.default_headers, (REQUEST_ID, self.request_id), *headers]
        if not self.keep_alive:
            lines.append((b"connection", b"close"))
        self.response_started = True
        self.transport.write(head_of(status, lines) + content)
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
