"""How a call travels: the only place that knows the HTTP library, once blocking, once awaited.

Nothing is raised for what can happen on a network: no answer is an outcome too. The library is
imported when a client is made, as it takes longer than all the rest.
"""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
import threading
import time
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, NamedTuple

from foretell.client.backoff import Budget
from foretell.client.calls import Call, Lost, Outcome, Reply
from foretell.client.deadline import Timeouts, heed
from foretell.client.errors import ClientClosed
from foretell.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    import httpx2


LONGEST = 2000
"""Characters of an address: there is always room for the path of a call."""

LARGEST = 16 * 2**20
"""Bytes of an answer: a service never gives as many."""

CLOSED = "this client is closed: make another one"


class Site(NamedTuple):
    """Where the service is, and what every request to it carries."""

    url: str
    headers: dict[str, str]

    @classmethod
    def of(cls, url: str, key: str | None) -> Site:
        """Check an address and a key."""
        try:
            import httpx2
        except ImportError as error:
            raise MissingExtra(
                "foretell.Client needs httpx2, which is not installed: "
                "install it with pip install 'foretell[client]'"
            ) from error
        try:
            parsed = httpx2.URL(url)
        except (httpx2.InvalidURL, TypeError):
            parsed = httpx2.URL("")
        if not _is_address(parsed):
            raise InvalidInput(
                f"a service has an address like 'http://localhost:8000', got {url!r}: "
                f"a key goes into key="
            )
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",  # a packed answer could be of any size
        }
        if key is not None:
            if not isinstance(key, str) or not re.fullmatch("[!-~]+", key):
                raise InvalidInput(
                    "a key is made of letters, digits and signs: check how it is read"
                )
            headers["Authorization"] = f"Bearer {key}"
        return cls(str(url).rstrip("/"), headers)

    def request(self, call: Call) -> httpx2.Request:
        """Write a call as a request."""
        import httpx2

        address = self.url + call.path
        return httpx2.Request(call.method, address, headers=self.headers, content=call.body)


def _is_address(url: httpx2.URL) -> bool:
    """Return whether a service can be at this address, be it there or not."""
    try:
        url.raw_host.decode("ascii").encode("idna")  # as every connection will
    except UnicodeError:
        return False
    port = 1 if url.port is None else url.port
    whole = url.scheme in {"http", "https"} and url.raw_host and 1 <= port <= 65535
    more = url.userinfo or url.query or url.fragment or len(str(url)) > LONGEST
    return bool(whole and not more)


class Blocking:
    """Sends calls from any thread and waits for the answers, over connections that are kept."""

    def __init__(self, site: Site) -> None:
        """Connect when first asked."""
        import httpx2

        self._site = site
        self._http = httpx2.Client(timeout=None, verify=_tls())

    def send(self, call: Call, seconds: float) -> Outcome:
        """Send a call once."""
        request = self._site.request(call)
        request.extensions |= {"timeout": Timeouts(seconds), "trace": heed}
        body = _Body()
        try:
            with closing(self._http.send(request, stream=True)) as response:
                for part in response.iter_raw():
                    body.add(part)
        except Exception as error:
            if self._http.is_closed:
                raise ClientClosed(CLOSED) from error
            return _lost(error, seconds)
        return _reply(response, body)

    def ask(self, call: Call, seconds: float) -> Outcome:
        """Send a call until there is an answer or the time is over."""
        budget = Budget(seconds)
        while True:
            outcome = self.send(call, budget.left())
            wait = budget.wait(outcome)
            if wait is None:
                return outcome
            time.sleep(wait)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


class Awaited:
    """Sends calls from event loops, in each of them over connections that are kept for it."""

    def __init__(self, site: Site) -> None:
        """Connect when first asked."""
        self._site = site
        self._lock = threading.Lock()
        self._pools: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}
        self._closed = False
        _tls()

    async def send(self, call: Call, seconds: float) -> Outcome:
        """Send a call once."""
        request = self._site.request(call)
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
            return _lost(error, seconds)
        return _reply(response, body)

    async def ask(self, call: Call, seconds: float) -> Outcome:
        """Send a call until there is an answer or the time is over."""
        budget = Budget(seconds)
        while True:
            outcome = await self.send(call, budget.left())
            wait = budget.wait(outcome)
            if wait is None:
                return outcome
            await asyncio.sleep(wait)

    async def close(self) -> None:
        """Close the connections of the loop that runs; another loop's end with it."""
        self._closed = True
        with self._lock:
            http = self._pools.pop(asyncio.get_running_loop(), None)
        if http is not None:
            await http.aclose()

    def _pool(self) -> httpx2.AsyncClient:
        """Return the connections of the loop that runs, and let go of those of loops that ended."""
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
    """What an answer has brought so far."""

    def add(self, part: bytes) -> None:
        self += part
        if len(self) > LARGEST:
            raise _TooLong


class _TooLong(Exception):
    """An answer that does not end."""


@functools.cache
def _tls() -> ssl.SSLContext:
    """Read the certificates that are trusted, once: it takes longer than a decision."""
    import httpx2

    return httpx2.create_ssl_context()


def _reply(response: httpx2.Response, body: _Body) -> Reply:
    return Reply(
        response.status_code,
        bytes(body),
        response.headers.get("Content-Type", ""),
        response.headers.get("Retry-After", ""),
    )


def _lost(error: Exception, seconds: float) -> Lost:
    import httpx2

    if isinstance(error, _TooLong):
        return Lost(f"the service answered with more than {LARGEST // 2**20} MB")
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return Lost(f"the service gave no answer within {seconds:.3g} s")
    return Lost(f"the service cannot be reached: {str(error) or type(error).__name__}")
