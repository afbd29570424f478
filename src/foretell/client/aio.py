"""The client for an event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from types import TracebackType
from typing import Any, Self

from foretell.client import calls as wire
from foretell.client.base import PATIENCE, Base, Rejected
from foretell.client.decision import Decision
from foretell.client.events import Event, new_id
from foretell.client.fallback import Fallback
from foretell.client.transport import Awaited


class AsyncClient(Base[Coroutine[Any, Any, str | None]]):
    """A `foretell.Client` whose methods are awaited, in any event loop.

    Each loop has connections of its own, and `close` closes those of the loop it is awaited in.

    Feedback is written to the outbox in a thread, and sent by the same sender thread as that of
    a `Client`: a busy loop does not delay it.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        fallback: Fallback | None = None,
        outbox: str | os.PathLike[str] | None = None,
    ) -> None:
        """Check the settings; connections, the outbox and its thread come with the first use."""
        super().__init__(url, key=key, timeout=timeout, fallback=fallback, outbox=outbox)
        self._http = Awaited(self._site)

    async def decide(
        self,
        campaign: str,
        *,
        unit: str | None = None,
        eligible: Sequence[str] | None = None,
        decision_key: str | None = None,
        context: dict[str, Any] | None = None,
        fallback: Fallback | None = None,
    ) -> Decision[Coroutine[Any, Any, str | None]]:
        """Choose an action, among the eligible ones where some are named.

        The same `decision_key` gives the same decision; without one, each call has its own.
        """
        self._enter()
        call = wire.decision(campaign, unit, eligible, decision_key or new_id(), context)
        outcome = await self._http.ask(call, self._timeout)
        return self._decided(outcome, campaign, eligible, fallback)

    async def flush(self, timeout: float = 10.0) -> bool:  # noqa: ASYNC109 - it is no error
        """Wait until all feedback given so far is sent; False: some of it is not yet.

        A key that is refused (401, 403) is raised as ServiceRefused.
        """
        return await asyncio.to_thread(self._flush, timeout)

    async def rejected(self) -> list[Rejected]:
        """Return the events that the service will never take, and why, oldest first."""
        return await asyncio.to_thread(self._rejected)

    async def create_campaign(self, **fields: Any) -> dict[str, Any]:
        """Make a campaign: at least `name`, `actions` and `signals`; give it as it is set."""
        self._enter()
        return wire.read(await self._http.send(wire.new_campaign(fields), PATIENCE), dict[str, Any])

    async def report(self, campaign: str) -> dict[str, Any]:
        """Return what a campaign has come to."""
        self._enter()
        return wire.read(await self._http.ask(wire.report(campaign), PATIENCE), dict[str, Any])

    async def close(self, timeout: float = 2.0) -> None:  # noqa: ASYNC109 - it is no error
        """Send what can be sent in this time, and stop; the rest stays in the outbox file."""
        if await asyncio.to_thread(self._close, timeout):
            await self._http.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _keep(self, event: Event | None) -> str | None:
        return await asyncio.to_thread(self._put, event)
