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

import httptools
from uvicorn import Config
from uvicorn.server import ServerState

from foretell.service.http.exchange import REQUEST_ID, head_of, new_request_id
from foretell.service.http.limits import Limits
from foretell.service.http.problems import problem_response
from foretell.service.http.request_reader import BODY, HEAD, IDLE, RequestReader
from foretell.service.http.responses import NO_STORE
from foretell.service.logging import log_request
from foretell.service.model.errors import RequestProblem, TimedOut

BYTES_A_SECOND = 16384
"""For so many bytes of its body a request is given one more second."""
LINGER_SECONDS = 1.0
"""How long a connection that was refused, and is half closed, stays so: its client can read the
answer, and one that sends on waits meanwhile, for nothing more is read."""
STALL_SECONDS = 60.0
"""How long a client may read nothing of its answer."""


class Connection(RequestReader):
    """One connection, with the time that it has, and the end that it comes to."""

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
        super().__init__(limits, config, server_state, app_state, _loop)
        self._room = limits.header_bytes
        self._count_refusal = count_refusal
        self._log_refusals = access_log
        self._began = 0.0
        self._idle_since = 0.0
        """When the last answer was complete."""
        self._stalled: asyncio.TimerHandle | None = None
        self._when_answered: Callable[[], None] | None = None
        """What is done when every request that has come is answered; None: wait for the next."""
        self._refused = False
        """Whether nothing more is read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; the first request must come in time."""
        super().connection_made(transport)
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End; whoever waits for more of a body is told."""
        self.stop_timer()
        self._unset_keepalive_if_required()  # uvicorn keeps it, after a reset, until it fires
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Hand what came to the parser, no more at once than may come at all."""
        if self._refused:
            self.flow.pause_reading()
            return
        if self.is_repetition(data):
            self.repeat(data)
            return
        begins = self.place == IDLE and not self.fed
        fed = self.fed + len(data)
        if fed <= self._room:
            self.fed = fed
            self._feed(data)
            if begins:
                self.remember(data)
        else:
            self._feed_in_parts(data)
        if self.timer is None and (
            self.place or self.cycle is None or self.cycle.response_complete
        ):
            self._start_timer()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Keep open what a client has closed on its side, until what it asked is answered."""
        waits = self.cycle is not None and not self.cycle.response_complete
        if self._refused or self.place != IDLE or not waits:
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
            room = self._room - self.fed
            if room <= 0:
                self._refuse(self.too_much())
                return
            part, data = data[:room], data[room:]
            self.fed += len(part)
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
            self._refuse(self.explain(error))

    def on_response_complete(self) -> None:
        """Go on to the next request, or wait for one, or close where there will be none."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._keep_alive(self.timeout_keep_alive)
        if self._when_answered is not None:
            self._when_answered()

    def _keep_alive(self, seconds: float) -> None:
        """Look in a while whether the connection is idle: one timer serves many requests."""
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self.timeout_keep_alive_task = None
        if self.place != IDLE or not self.cycle.response_complete:
            return  # the end of its answer begins another wait
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if left > 0:
            self._keep_alive(left)
        else:
            self.timeout_keep_alive_handler()

    def _start_timer(self) -> None:
        if not self._refused and not self.transport.is_closing():
            limits = self.limits
            seconds = limits.body_seconds if self.place == BODY else limits.header_seconds
            self._began = self.loop.time()
            self.timer = self.loop.call_later(seconds, self._time_is_up)

    def _time_is_up(self) -> None:
        self.timer = None
        if self.flow.read_paused:  # it is us who did not read
            self._start_timer()
        elif self.place == BODY:
            allowed = self.limits.body_seconds + self.body_bytes / BYTES_A_SECOND
            left = self._began + allowed - self.loop.time()
            if left > 0:
                self.timer = self.loop.call_later(left, self._time_is_up)
            else:
                seconds = self.limits.body_seconds
                self._refuse(TimedOut(f"the body did not end within {seconds:g} s: send it again"))
        elif self.place == HEAD:
            seconds = self.limits.header_seconds
            self._refuse(TimedOut(f"the headers did not end within {seconds:g} s: send them again"))
        else:
            self.transport.close()

    def _refuse(self, problem: RequestProblem) -> None:
        """Answer with a problem, after what came before it, and close."""
        self.stop_timer()
        cycle = self.cycle
        if self.place == BODY and not cycle.response_complete:
            if self.pipeline and self.pipeline[0][0] is cycle:
                self.pipeline.popleft()
            else:
                self._give_up_body(problem)
                return
        elif self.place == BODY:
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
        self.request_id = cycle.scope["request_id"]  # type: ignore[typeddict-item]
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
        self.timer = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _last_answer(self, problem: RequestProblem) -> bytes:
        request_id = self.request_id or new_request_id()
        response = problem_response(problem)
        assert isinstance(response.content, bytes)  # noqa: S101  (that of a problem)
        if self._log_refusals and "refused" not in (self.scope or ()):
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
