"""The client for an event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from foretell.client.admin import AsyncAdminCalls
from foretell.client.async_transport import AsyncTransport
from foretell.client.base import BaseClient
from foretell.client.calls import ApiCall, Body, decision_call, read
from foretell.client.checks import new_id
from foretell.client.decision import Fallback, ServiceDecision, checked_fallback
from foretell.client.feedback import MakeEvent
from foretell.client.health import ClientHealth
from foretell.client.outbox import RejectedEvent


class AsyncClient(BaseClient[Coroutine[Any, Any, str | None]], AsyncAdminCalls):
    """A `foretell.Client` whose methods are awaited, in any event loop.

    Each loop has connections of its own, and `close` closes those of the loop it is awaited in.
    Feedback is written to the outbox and sent in threads: a busy loop does not delay it.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        fallback: Fallback | None = None,
        outbox: str | os.PathLike[str] | None = None,
    ) -> None:
        """Check the settings; connections, the outbox and its thread come with the first use."""
        super().__init__(url, key=key, timeout=timeout, fallback=fallback, outbox=outbox)
        self._transport = AsyncTransport(self._address)

    async def decide(
        self,
        campaign: str,
        *,
        unit: str | None = None,
        eligible: Sequence[str] | None = None,
        decision_key: str | None = None,
        context: dict[str, Any] | None = None,
        fallback: Fallback | None = None,
    ) -> ServiceDecision[Coroutine[Any, Any, str | None]]:
        """Choose an action, among the eligible ones where some are named.

        The same `decision_key` leads to the same decision; without one, each call has its own.
        """
        safe = fallback is not None or self._fallback is not None
        try:
            self._check_usable()
            checked_fallback(fallback)
            call = decision_call(campaign, unit, eligible, decision_key or new_id(), context)
            result = await self._transport.send_with_retries(call, self._timeout)
            return self._decision(campaign, result, safe=safe)
        except Exception as error:
            decision = self._fall_back(error, campaign, eligible, fallback)
            if decision is None:
                raise
            return decision

    async def flush(self, timeout: float = 10.0) -> bool:  # noqa: ASYNC109 - it is no error
        """Wait until all feedback so far is sent; return whether it is.

        A key that is refused (401, 403) is raised as ServiceRefused.
        """
        return await asyncio.to_thread(self._flush, timeout)

    async def rejected(self) -> list[RejectedEvent]:
        """Return the events that the service will not take, and why, oldest first."""
        return await asyncio.to_thread(self._rejected)

    async def resend_rejected(self, events: Iterable[RejectedEvent] | None = None) -> int:
        """Send rejected events again, all of them or those given; return how many."""
        return await asyncio.to_thread(self._resend, events)

    async def health(self) -> ClientHealth:
        """Return how this client is: fallbacks, what waits, and when the service was heard."""
        return await asyncio.to_thread(self._health, self._transport.last_contact)

    async def close(self, timeout: float = 2.0) -> None:  # noqa: ASYNC109 - it is no error
        """Send what can be sent in this time, and stop; the rest stays in the outbox file."""
        if await asyncio.to_thread(self._close, timeout):
            await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _keep_event(self, event: MakeEvent, *, safe: bool) -> str | None:
        return await asyncio.to_thread(self._put_event, event, safe=safe)

    async def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        self._check_usable()
        send = self._transport.send_with_retries if call.method == "GET" else self._transport.send
        return read(await send(call, self._timeout), kind)
