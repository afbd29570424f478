"""How a call travels from an event loop: as in `transport`, awaited."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from typing import TYPE_CHECKING

from foretell.client.address import ServiceAddress
from foretell.client.backoff import RetryBudget
from foretell.client.calls import ApiCall, CallResult
from foretell.client.errors import ClientClosed
from foretell.client.replies import Listener, ReplyBody, no_answer, reply_of, tls

if TYPE_CHECKING:
    import httpx2


class AsyncTransport(Listener):
    """Sends calls from event loops, in each of them over connections that are kept for it."""

    def __init__(self, address: ServiceAddress) -> None:
        """Connect when first asked."""
        self._address = address
        self._lock = threading.Lock()
        self._pools: dict[asyncio.AbstractEventLoop, httpx2.AsyncClient] = {}
        self._closed = False
        tls()

    async def send(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call once; all of it may take so many seconds."""
        request = self._address.request(call)
        http = self._pool()
        body = ReplyBody()
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
                raise ClientClosed from error
            return no_answer(error, seconds)
        return self._heard(reply_of(response, body))

    async def send_with_retries(self, call: ApiCall, seconds: float) -> CallResult:
        """Send a call until there is an answer or the time is over."""
        budget = RetryBudget(seconds)
        while True:
            result = await self.send(call, budget.left())
            wait = budget.wait(result)
            if wait is None:
                return budget.final(result)
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
            raise ClientClosed
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._pools:
                self._pools = {
                    one: kept for one, kept in self._pools.items() if not one.is_closed()
                }
                self._pools[loop] = httpx2.AsyncClient(timeout=None, verify=tls())
            return self._pools[loop]
