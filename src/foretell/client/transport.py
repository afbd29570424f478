"""How a call travels: the only place that sends with the HTTP library, blocking or awaited.

Whatever can happen on a network is a result, and no exception: no answer is one too. Redirects are
not followed, so that a key goes nowhere else. The library is imported when a client is made, as it
takes longer than all the rest.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from foretell.client.address import ServiceAddress
from foretell.client.backoff import RetryBudget
from foretell.client.calls import ApiCall, CallResult, HttpReply, NoAnswer, trouble
from foretell.client.deadline import PhaseTimeouts, enforce_deadline
from foretell.client.errors import ClientClosed, ServiceUnavailable

if TYPE_CHECKING:
    import httpx2

REQUEST_TIMEOUT = 10.0
"""Seconds that a request of the sender may take, for which nobody waits."""

MAX_REPLY_BYTES = 16 * 2**20
"""Bytes of an answer that is held in memory: a service never sends as many."""

CLOSED = "this client is closed: make another one"


class _Listener:
    """Knows when the service was last heard."""

    last_contact: float | None = None
    """When the service last answered, in seconds since 1970."""

    def _heard(self, reply: HttpReply) -> HttpReply:
        if trouble(reply) is None:
            self.last_contact = time.time()
        return reply


class SyncTransport(_Listener):
    """Sends calls from any thread and waits for the answers, over connections that are kept."""

    def __init__(self, address: ServiceAddress) -> None:
        """Connect when first asked."""
        import httpx2

        self._address = address
        self._http = httpx2.Client(timeout=None, verify=_tls())

    def send(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call once; all of it may take so many seconds."""
        request = self._address.request(call)
        request.extensions |= {"timeout": PhaseTimeouts(seconds), "trace": enforce_deadline}
        body = _Body()
        try:
            with closing(self._http.send(request, stream=True)) as response:
                for part in response.iter_raw():
                    body.add(part)
        except Exception as error:
            if self._http.is_closed:
                raise ClientClosed(CLOSED) from error
            return _no_answer(error, seconds)
        return self._heard(_reply(response, body))

    def send_with_retries(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call until there is an answer or the time is over."""
        budget = RetryBudget(seconds)
        while True:
            result = self.send(call, budget.left())
            wait = budget.wait(result)
            if wait is None:
                return result
            time.sleep(wait)

    @contextmanager
    def stream(self, call: ApiCall, idle_seconds: float) -> Iterator[StreamedReply]:
        """Send a call once, and read its answer part by part.

        It may take as long as it likes, but not `idle_seconds` without a byte. What goes wrong on
        the network is raised as ServiceUnavailable.
        """
        import httpx2

        request = self._address.request(call)
        request.extensions["timeout"] = httpx2.Timeout(idle_seconds).as_dict()
        with _raised(idle_seconds):
            response = self._http.send(request, stream=True)
        with closing(response):
            yield StreamedReply(response, idle_seconds)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class StreamedReply(NamedTuple):
    """An answer whose body is still on its way."""

    response: httpx2.Response
    idle_seconds: float

    @property
    def status(self) -> int:
        """The status of the answer."""
        return self.response.status_code

    @property
    def content_type(self) -> str:
        """The media type of the answer, without its parameters."""
        media: str = self.response.headers.get("Content-Type", "")
        return media.partition(";")[0].strip().lower()

    @property
    def has_length(self) -> bool:
        """Whether the answer says how long it is; the library notices one that is cut off."""
        return "Content-Length" in self.response.headers

    def parts(self) -> Iterator[bytes]:
        """Yield the body as it comes."""
        with _raised(self.idle_seconds):
            yield from self.response.iter_raw()

    def read(self) -> HttpReply:
        """Read the body into memory."""
        body = _Body()
        with _raised(self.idle_seconds):
            for part in self.response.iter_raw():
                body.add(part)
        return _reply(self.response, body)


class AsyncTransport(_Listener):
    """Sends calls from event loops, in each of them over connections that are kept for it."""

    def __init__(self, address: ServiceAddress) -> None:
        """Connect when first asked."""
        self._address = address
        self._lock = threading.Lock()
        self._pools: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}
        self._closed = False
        _tls()

    async def send(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call once; all of it may take so many seconds."""
        request = self._address.request(call)
        http = self._pool()
        body = _Body()
        try:
            async with (
                asyncio.timeout(seconds),
                aclosing(await http.send(request, stream=True)) as response,
                aclosing(response.aiter_raw()) as parts,
            ):
                async for part in parts:
                    body.add(part)
        except Exception as error:
            if http.is_closed:
                raise ClientClosed(CLOSED) from error
            return _no_answer(error, seconds)
        return self._heard(_reply(response, body))

    async def send_with_retries(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call until there is an answer or the time is over."""
        budget = RetryBudget(seconds)
        while True:
            result = await self.send(call, budget.left())
            wait = budget.wait(result)
            if wait is None:
                return result
            await asyncio.sleep(wait)

    async def close(self) -> None:
        """Close the connections of the running loop; those of another loop end with it."""
        self._closed = True
        with self._lock:
            http = self._pools.pop(asyncio.get_running_loop(), None)
        if http is not None:
            await http.aclose()

    def _pool(self) -> httpx2.AsyncClient:
        """Return the connections of the running loop, and let go of those of loops that ended."""
        import httpx2

        if self._closed:
            raise ClientClosed(CLOSED)
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._pools:
                self._pools = {
                    one: kept for one, kept in self._pools.items() if not one.is_closed()
                }
                self._pools[loop] = httpx2.AsyncClient(timeout=None, verify=_tls())
            return self._pools[loop]


class _Body(bytearray):
    """What has come of an answer so far."""

    def add(self, part: bytes) -> None:
        self += part
        if len(self) > MAX_REPLY_BYTES:
            raise _TooLong


class _TooLong(Exception):
    """An answer that does not end."""


@functools.cache
def _tls() -> ssl.SSLContext:
    """Read the certificates that are trusted, once: it takes longer than a decision."""
    import httpx2

    return httpx2.create_ssl_context()


def _reply(response: httpx2.Response, body: _Body) -> HttpReply:
    return HttpReply(
        response.status_code,
        bytes(body),
        response.headers.get("Content-Type", ""),
        response.headers.get("Retry-After", ""),
    )


@contextmanager
def _raised(seconds: float) -> Iterator[None]:
    """Raise what goes wrong on the network as ServiceUnavailable."""
    import httpx2

    try:
        yield
    except (
        httpx2.HTTPError,
        httpx2.StreamError,
        _TooLong,
        ConnectionError,
        TimeoutError,
        ValueError,
    ) as error:
        raise ServiceUnavailable(_no_answer(error, seconds).why) from error


def _no_answer(error: Exception, seconds: float) -> NoAnswer:
    import httpx2

    if isinstance(error, _TooLong):
        return NoAnswer(f"the service answered with more than {MAX_REPLY_BYTES // 2**20} MB")
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return NoAnswer(f"the service gave no answer within {seconds:.3g} s")
    return NoAnswer(f"the service cannot be reached: {str(error) or type(error).__name__}")
