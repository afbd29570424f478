"""How a call travels: here blocking, and awaited in `async_transport`; nobody else sends.

Whatever can happen on a network is a result, and no exception: no answer is one too. Redirects are
not followed, so that a key goes nowhere else. A call whose body is at hand goes over a connection
of `kept_connections`, unless there is a proxy between; the rest goes through a library, which is
imported when a client is made, as that takes longer than all the rest.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from foretell.client.address import ServiceAddress
from foretell.client.backoff import RetryBudget
from foretell.client.calls import ApiCall, CallResult, HttpReply
from foretell.client.deadline import PhaseTimeouts, enforce_deadline
from foretell.client.errors import ClientClosed
from foretell.client.kept_connections import KeptConnections
from foretell.client.replies import (
    Listener,
    ReplyBody,
    network_errors_raised,
    no_answer,
    reply_of,
    tls,
)
from foretell.client.streamed_reply import StreamedReply

REQUEST_TIMEOUT = 10.0
"""Seconds that a request of the sender may take, for which nobody waits."""


class SyncTransport(Listener):
    """Sends calls from any thread and waits for the answers, over connections that are kept."""

    def __init__(self, address: ServiceAddress) -> None:
        """Connect when first asked."""
        from urllib.request import getproxies

        import httpx2

        self._address = address
        self._http = httpx2.Client(timeout=None, verify=tls())
        self._kept = KeptConnections(address)
        self._uses_proxy = bool(getproxies())

    def send(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call once; all of it may take so many seconds."""
        return self._send(call, RetryBudget(seconds))

    def _send(self, call: ApiCall, budget: RetryBudget) -> CallResult:
        """Send a call once, in what is left of its time."""
        seconds = budget.left()
        try:
            if isinstance(call.body, bytes) and not self._uses_proxy:
                return self._heard(self._kept.send(call, budget))
            return self._heard(self._send_through_library(call, seconds))
        except Exception as error:
            if self._kept.closed:
                raise ClientClosed from error
            return no_answer(error, seconds)

    def _send_through_library(self, call: ApiCall, seconds: float) -> HttpReply:
        request = self._address.request(call)
        request.extensions |= {"timeout": PhaseTimeouts(seconds), "trace": enforce_deadline}
        body = ReplyBody()
        with closing(self._http.send(request, stream=True)) as response:
            for part in response.iter_raw():
                body.add(part)
        return reply_of(response, body)

    def send_with_retries(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call until there is an answer or the time is over."""
        budget = RetryBudget(seconds)
        while True:
            result = self._send(call, budget)
            wait = budget.wait(result)
            if wait is None:
                return budget.final(result)
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
        with network_errors_raised(idle_seconds):
            response = self._http.send(request, stream=True)
        with closing(response):
            yield StreamedReply(response, idle_seconds)

    def close(self) -> None:
        """Close the connections."""
        self._kept.close()
        self._http.close()
