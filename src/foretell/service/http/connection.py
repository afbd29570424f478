"""One connection: what a stranger may send before anybody knows who it is, and for how long.

This is uvicorn's own protocol with limits around it: on the address, on the bytes and the count of
headers, on what stands between the parts of a body and after it, on the time until headers and
body end, on requests that wait behind others. Whatever is over them is answered with a problem, if
an answer can still be read, and closed. A request that comes in one piece meets a few comparisons
and no timer: the time begins where a request has come in part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn import Config
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from foretell.service.http.bodies import Limits
from foretell.service.http.exchange import (
    REQUEST_ID,
    Exchange,
    head_of,
    is_sane_id,
    new_request_id,
)
from foretell.service.http.problems import problem_response
from foretell.service.http.responses import NO_STORE
from foretell.service.logging import log_request
from foretell.service.model.errors import (
    AddressTooLong,
    BadRequest,
    HeadersTooLarge,
    Overloaded,
    RequestProblem,
    TimedOut,
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
BYTES_A_SECOND = 16384
"""For so many bytes of its body a request is given one more second."""
LINGER_SECONDS = 1.0
"""How long a connection that was refused, and is half closed, stays so: its client can read the
answer, and one that sends on waits meanwhile, for nothing more is read."""
STALL_SECONDS = 60.0
"""How long a client may read nothing of its answer."""
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_ADDRESS_ERRORS = (httptools.HttpParserCallbackError, httptools.HttpParserInvalidURLError)


class _Refused(Exception):
    """Raised into the parser, which then stops."""

    def __init__(self, problem: RequestProblem) -> None:
        super().__init__(problem)
        self.problem = problem


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with limits on what comes and on the time it takes."""

    def __init__(
        self,
        limits: Limits,
        count_refusal: Callable[[int, float], None],
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        access_log: bool = False,
    ) -> None:
        """Wait to be connected; what is refused before it has an operation is counted."""
        super().__init__(config, server_state, app_state, _loop)
        self._limits = limits
        self._room = limits.header_bytes
        self._count_refusal = count_refusal
        self._log_refusals = access_log
        self._state = IDLE
        self._fed = 0
        """Bytes of this head, or of this body without its content; below 0 where more may come."""
        self._trailers = 0
        self._body_bytes = 0
        self._thrown_away = 0
        """Bytes of bodies that came after their answer."""
        self._request_id: bytes | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._began = 0.0
        self._stalled: asyncio.TimerHandle | None = None
        self._when_answered: Callable[[], None] | None = None
        """What is done when every request that has come is answered; None: wait for the next."""
        self._refused = False
        """Whether nothing more is read."""

    # What comes from the socket

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; the first request must come in time."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; whoever waits for more of a body is told."""
        self._stop_timer()
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand what came to the parser, no more at once than may come at all."""
        if self._refused:
            self.flow.pause_reading()
            return
        self._unset_keepalive_if_required()
        fed = self._fed + len(data)
        if fed <= self._room:
            self._fed = fed
            self._feed(data)
        else:
            self._feed_in_parts(data)
        if self._timer is None and (
            self._state or self.cycle is None or self.cycle.response_complete
        ):
            self._start_timer()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep open what a client has closed on its side, until what it asked is answered."""
        waits = self.cycle is not None and not self.cycle.response_complete
        if self._refused or self._state != IDLE or not waits:
            return None
        self._when_answered = self.transport.close
        return True

    def pause_writing(self) -> None:
        """Wait for a client to read, and not for ever."""
        super().pause_writing()
        self._stalled = self.loop.call_later(STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
        if self.flow is not None:
            super().resume_writing()

    def _feed_in_parts(self, data: bytes) -> None:
        while data:
            room = self._room - self._fed
            if room <= 0:
                self._refuse(self._too_much())
                return
            part, data = data[:room], data[room:]
            self._fed += len(part)
            self._feed(part)
            if self._refused:
                return

    def _feed(self, data: bytes) -> None:
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:  # another protocol, which is not spoken
            rest = data[upgrade.args[0] :]
            if rest:
                self._feed(rest)
        except httptools.HttpParserError as error:
            self._refuse(self._explain(error))

    # What the parser finds

    def on_message_begin(self) -> None:
        """Begin a request, unless too many wait."""
        if len(self.pipeline) >= MAX_WAITING:
            raise _Refused(
                Overloaded(
                    f"{len(self.pipeline)} requests wait behind another one on this connection: "
                    f"wait for answers before you send more"
                )
            )
        self._state = HEAD
        self._request_id = None
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self.scope = {  # type: ignore[typeddict-item]
            "type": "http",
            "asgi": _ASGI,
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "headers": self.headers,
        }

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
        if len(headers) + self._trailers >= self._limits.headers:
            raise _Refused(
                HeadersTooLarge(
                    f"a request must have at most {self._limits.headers} headers: send fewer"
                )
            )
        if self._state == BODY:
            self._trailers += 1
            return
        name = name.lower()
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        elif name == REQUEST_ID and is_sane_id(value):
            self._request_id = value
        headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Hand a request to the application, with its id, which every answer then has."""
        parser, scope = self.parser, self.scope
        if parser.should_upgrade():
            self._refuse_upgrade_with_body()
        scope["method"] = parser.get_method().decode("ascii")
        version = parser.get_http_version()
        if version != "1.1":
            scope["http_version"] = version
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        self._state = BODY
        self._fed = self._trailers = self._body_bytes = 0
        if self._timer is not None:
            self._stop_timer()
        before = self.cycle
        exchange = self.cycle = self._exchange(version)
        if before is None or before.response_complete:
            self._start_asgi_task(exchange, self.app)
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, self.app))

    def _exchange(self, version: str) -> Exchange:
        exchange = Exchange(
            self.scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            self.access_log,
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            version != "1.0" and self.parser.should_keep_alive(),
            self.on_response_complete,
        )
        exchange.request_id = self._request_id or new_request_id()
        self.scope["request_id"] = exchange.request_id  # type: ignore[typeddict-unknown-key]
        return exchange

    def on_body(self, body: bytes) -> None:
        """Take a part of a body; what comes after the answer is thrown away, if it is not much."""
        cycle, size = self.cycle, len(body)
        self._fed -= FRAMING * size
        self._body_bytes += size
        if cycle.response_complete:
            self._thrown_away += size
            if self._thrown_away > self._limits.batch:
                raise _Refused(TooLarge("more of a body came after its answer than is read"))
            return
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """End a request."""
        cycle = self.cycle
        if not cycle.response_complete:
            cycle.more_body = False
            cycle.message_event.set()
        self._state = IDLE
        self._fed = 0
        if self._timer is not None:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Go on to the next request, or close where there will be none."""
        was_last = not self.pipeline
        super().on_response_complete()
        if was_last and self._when_answered is not None:
            self._when_answered()

    def _refuse_upgrade_with_body(self) -> None:
        """Refuse a body that the parser would take for another protocol."""
        for name, value in self.headers:
            if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
                raise _Refused(
                    BadRequest("a request with a body cannot be upgraded: leave out Upgrade")
                )

    # Time

    def _start_timer(self) -> None:
        if not self._refused and not self.transport.is_closing():
            limits = self._limits
            seconds = limits.body_seconds if self._state == BODY else limits.header_seconds
            self._began = self.loop.time()
            self._timer = self.loop.call_later(seconds, self._time_is_up)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _time_is_up(self) -> None:
        self._timer = None
        if self.flow.read_paused:  # it is us who did not read
            self._start_timer()
        elif self._state == BODY:
            allowed = self._limits.body_seconds + self._body_bytes / BYTES_A_SECOND
            left = self._began + allowed - self.loop.time()
            if left > 0:
                self._timer = self.loop.call_later(left, self._time_is_up)
            else:
                seconds = self._limits.body_seconds
                self._refuse(TimedOut(f"the body did not end within {seconds:g} s: send it again"))
        elif self._state == HEAD:
            seconds = self._limits.header_seconds
            self._refuse(TimedOut(f"the headers did not end within {seconds:g} s: send them again"))
        else:
            self.transport.close()

    # Refusing

    def _too_much(self) -> RequestProblem:
        if self._state == BODY:
            return TooLarge("the body comes in too many small parts: send larger ones")
        limit = self._limits.header_bytes
        return HeadersTooLarge(f"the headers must have at most {limit} bytes: send less")

    def _explain(self, error: httptools.HttpParserError) -> RequestProblem:
        """Return what is wrong with a request, in words for people."""
        cause = error.__context__
        if isinstance(cause, _Refused):
            return cause.problem
        if self._state == BODY:
            return BadRequest("the body is not in chunks as HTTP/1.1 says: mend what sends it")
        if isinstance(error, httptools.HttpParserInvalidMethodError):
            return BadRequest("the method is none of HTTP: send GET, POST, PATCH or DELETE")
        if isinstance(
            error, httptools.HttpParserCallbackError | httptools.HttpParserInvalidURLError
        ):
            return BadRequest("the address cannot be read: percent-encode what is not ASCII")
        return BadRequest("the first line or a header is not as HTTP/1.1 says: mend what sends it")

    def _refuse(self, problem: RequestProblem) -> None:
        """Answer with a problem, after what came before it, and close."""
        self._stop_timer()
        cycle = self.cycle
        if self._state == BODY and not cycle.response_complete:
            if self.pipeline and self.pipeline[0][0] is cycle:
                self.pipeline.popleft()
            else:
                self._give_up_body(problem)
                return
        elif self._state == BODY:
            self._close_with(None)
            return
        self._count_refusal(problem.status, 0.0)
        if cycle is None or cycle.response_complete:
            self._close_with(problem)
        else:
            self._when_answered = lambda: self._close_with(problem)
            self._refused = True

    def _give_up_body(self, problem: RequestProblem) -> None:
        """Refuse a request whose body the application waits for, and which counts it."""
        cycle = self.cycle
        cycle.disconnected = True
        cycle.scope["refused"] = problem.status  # type: ignore[typeddict-unknown-key]
        cycle.message_event.set()
        self._close_with(None if cycle.response_started else problem)

    def _close_with(self, problem: RequestProblem | None) -> None:
        """Send a last answer, if there is one to send, and close."""
        self._refused = True
        if self.transport.is_closing():
            return
        if problem is not None:
            self.transport.write(self._last_answer(problem))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.pause_reading()
        self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _last_answer(self, problem: RequestProblem) -> bytes:
        request_id = self._request_id or new_request_id()
        response = problem_response(problem)
        assert isinstance(response.content, bytes)  # noqa: S101  (that of a problem)
        if self._log_refusals:
            client = self.client and self.client[0]
            size = len(response.content)
            log_request(request_id.decode("ascii"), problem.status, size, client=client)
        headers = [
            *self.server_state.default_headers,
            (REQUEST_ID, request_id),
            NO_STORE,
            *response.headers,
            (b"content-type", response.media),
            (b"content-length", b"%d" % len(response.content)),
            (b"connection", b"close"),
        ]
        return head_of(problem.status, headers) + response.content
