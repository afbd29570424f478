"""What the parser finds in the bytes of a connection, within limits that hold for everybody.

The callbacks are those of uvicorn's protocol, written out: each request meets all of them. What is
over a limit is raised into the parser, which then stops.

A client that asks the same again and again sends the same head each time. What the parser made of
the last head is kept: a request that is whole, and begins with the same bytes, is not parsed. What
the application has found out about that head, it leaves in `scope["kept"]` for the next.
"""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import httptools
from uvicorn import Config
from uvicorn._types import HTTPScope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from foretell.service.http.exchange import (
    REQUEST_ID,
    Exchange,
    check_head,
    is_sane_id,
    new_request_id,
)
from foretell.service.http.limits import Limits
from foretell.service.model.errors import (
    AddressTooLong,
    BadRequest,
    HeadersTooLarge,
    Overloaded,
    RequestProblem,
    TooLarge,
)

IDLE, HEAD, BODY = 0, 1, 2
"""Where in a request a connection is: before it, in its headers, in its body."""
MAX_ADDRESS = 8192
"""Bytes of the address in the first line of a request: 414 over it."""
MAX_WAITING = 64
"""Requests that wait behind another one on their connection: 429 over it."""
FRAMING = 9
"""Bytes that may come for each byte of a body: a chunk of one byte comes with five others."""
LONGEST_KEPT_HEAD = 4096
"""Bytes of a head that is kept for the next request at most."""
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_ADDRESS_ERRORS = (httptools.HttpParserCallbackError, httptools.HttpParserInvalidURLError)


class _Refused(Exception):
    """Raised into the parser, which then stops."""

    def __init__(self, problem: RequestProblem) -> None:
        super().__init__(problem)
        self.problem = problem


class ParsedHead(NamedTuple):
    """The head of a request that came in one piece, and what the parser made of it."""

    head: bytes
    size: int
    """Bytes of the whole request: the head says how many its body has."""
    scope: dict[str, Any]


class RequestReader(HttpToolsProtocol):
    """The half of a connection that reads requests and hands them to the application."""

    def __init__(
        self,
        limits: Limits,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        """Wait for a first request."""
        super().__init__(config, server_state, app_state, _loop)
        self.cycle: Exchange = None  # type: ignore[assignment]
        self.limits = limits
        self.place = IDLE
        self.fed = 0
        """Bytes of this head, or of this body without its content; below 0 where more may come."""
        self.body_bytes = 0
        self.request_id: bytes | None = None
        """The id that came with the request."""
        self.timer: asyncio.TimerHandle | None = None
        """When the time of this request is up; None where there is nothing to wait for."""
        self._trailers = 0
        self._thrown_away = 0
        """Bytes of bodies that came after their answer."""
        self._last: ParsedHead | None = None
        """The head that was parsed last, if the next request may begin with the same bytes."""

    def is_repetition(self, data: bytes) -> bool:
        """Return whether a whole request with the head of the last has come, when it may come."""
        last = self._last
        return (
            last is not None
            and len(data) == last.size
            and self.place == IDLE
            and not self.fed
            and self.cycle.response_complete
            and data.startswith(last.head)
        )

    def repeat(self, data: bytes) -> None:
        """Hand a request to the application that has the head of the last."""
        last = self._last
        assert last is not None  # noqa: S101  (`is_repetition` has looked)
        if self.timer is not None:
            self.stop_timer()
        self.scope = cast("HTTPScope", last.scope.copy())
        self.request_id = None
        exchange = self.cycle = self._exchange(keep_alive=True)
        exchange.take_whole(data[len(last.head) :])
        self._start_asgi_task(exchange, self.app)

    def remember(self, data: bytes) -> None:
        """Keep the head of a request that came from its first byte to its last, with no other."""
        end = data.find(b"\r\n\r\n", 0, LONGEST_KEPT_HEAD) + 4
        if (
            end >= 4
            and end + self.body_bytes == len(data)  # no chunks, and nothing before or after it
            and self.place == IDLE
            and self.cycle is not None
            and self.cycle.keep_alive
            and self.request_id is None
            and not self.expect_100_continue
            and not self.parser.should_upgrade()
        ):
            self._last = ParsedHead(data[:end], len(data), dict(self.scope))

    def on_message_begin(self) -> None:
        """Begin a request, unless too many wait."""
        if len(self.pipeline) >= MAX_WAITING:
            raise _Refused(
                Overloaded(
                    f"{len(self.pipeline)} requests wait behind another one on this connection: "
                    f"wait for answers before you send more"
                )
            )
        self._last = None  # what the parser knows is now about another head
        self.place = HEAD
        self.request_id = None
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        scope: Any = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "headers": self.headers,
            "kept": {},
        }
        self.scope = scope

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self.url += url
        if len(self.url) > MAX_ADDRESS:
            raise _Refused(
                AddressTooLong(f"the address must have at most {MAX_ADDRESS} bytes: shorten it")
            )

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what comes after a body is counted and not used."""
        headers = self.headers
        if len(headers) + self._trailers >= self.limits.headers:
            raise _Refused(
                HeadersTooLarge(
                    f"a request must have at most {self.limits.headers} headers: send fewer"
                )
            )
        if self.place == BODY:
            self._trailers += 1
            return
        name = name.lower()
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        elif name == REQUEST_ID and is_sane_id(value):
            self.request_id = value
        headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Hand a request to the application, with its id, which every answer then has."""
        parser, scope = self.parser, self.scope
        if parser.should_upgrade():
            self._refuse_upgrade_with_body()
        version = parser.get_http_version()
        try:
            check_head(version, self.headers)
        except RequestProblem as problem:
            raise _Refused(problem) from None
        scope["method"] = parser.get_method().decode("ascii")
        if version != "1.1":
            scope["http_version"] = version
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        self.place = BODY
        self.fed = self._trailers = self.body_bytes = 0
        if self.timer is not None:
            self.stop_timer()
        before = self.cycle
        keep_alive = version != "1.0" and self.parser.should_keep_alive()
        exchange = self.cycle = self._exchange(keep_alive=keep_alive)
        if before is None or before.response_complete:
            self._start_asgi_task(exchange, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, self.app))

    def _exchange(self, *, keep_alive: bool) -> Exchange:
        exchange = Exchange(
            self.scope,
            self.transport,
            self.flow,
            self.server_state.default_headers,
            self.request_id or new_request_id(),
            keep_alive=keep_alive,
            on_response=self.on_response_complete,
        )
        if self.expect_100_continue:
            exchange.waiting_for_100_continue = True
        return exchange

    def on_body(self, body: bytes) -> None:
        """Take a part of a body; what comes after the answer is thrown away, if it is not much."""
        cycle, size = self.cycle, len(body)
        self.fed -= FRAMING * size
        self.body_bytes += size
        if cycle.response_complete:
            self._thrown_away += size
            if self._thrown_away > self.limits.batch:
                raise _Refused(TooLarge("more of a body came after its answer than is read"))
            return
        cycle.add_body(body)
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """End a request."""
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.end_body()
        self.place = IDLE
        self.fed = 0
        if self.timer is not None:
            self.stop_timer()

    def _refuse_upgrade_with_body(self) -> None:
        """Refuse a body that the parser would take for another protocol."""
        for name, value in self.headers:
            if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
                raise _Refused(
                    BadRequest("a request with a body cannot be upgraded: leave out Upgrade")
                )

    def stop_timer(self) -> None:
        """Wait for nothing any more."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def too_much(self) -> RequestProblem:
        """Return what is wrong when more was fed than may come."""
        if self.place == BODY:
            return TooLarge("the body comes in too many small parts: send larger ones")
        limit = self.limits.header_bytes
        return HeadersTooLarge(f"the headers must have at most {limit} bytes: send less")

    def explain(self, error: httptools.HttpParserError) -> RequestProblem:
        """Return what is wrong with what the parser refuses, in words for people."""
        cause = error.__context__
        if isinstance(cause, _Refused):
            return cause.problem
        if self.place == BODY:
            return BadRequest("the body is not in chunks as HTTP/1.1 says: mend what sends it")
        if isinstance(error, httptools.HttpParserInvalidMethodError):
            return BadRequest("the method is none of HTTP: send GET, POST, PATCH or DELETE")
        if isinstance(
            error, httptools.HttpParserCallbackError | httptools.HttpParserInvalidURLError
        ):
            return BadRequest("the address cannot be read: percent-encode what is not ASCII")
        return BadRequest("the first line or a header is not as HTTP/1.1 says: mend what sends it")
