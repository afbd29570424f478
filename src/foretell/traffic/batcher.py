"""What all runs report at one time is sent in one batch."""

from __future__ import annotations

import asyncio

from foretell.protocol import FeedbackItem
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.traffic.service import DecisionService


class EventBatcher:
    """Sends events to a server, one batch at a time: what comes meanwhile is in the next."""

    def __init__(self, service: DecisionService) -> None:
        """Start with nothing to send."""
        self._service = service
        self._waiting: list[tuple[list[FeedbackItem], asyncio.Future[list[str]]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def send(self, events: list[FeedbackItem]) -> list[str]:
        """Send events, and return the status of each once the server has them."""
        if not events:
            return []
        done: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._waiting.append((events, done))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send_waiting())
        return await done

    async def _send_waiting(self) -> None:
        while self._waiting:
            taken = [self._waiting.pop(0)]
            size = len(taken[0][0])
            while self._waiting and size + len(self._waiting[0][0]) <= MAX_BATCH_EVENTS:
                size += len(self._waiting[0][0])
                taken.append(self._waiting.pop(0))
            try:
                statuses = await self._service.report([one for part, _ in taken for one in part])
            except Exception as error:  # noqa: BLE001  it is raised where the events came from
                for _, done in taken:
                    if not done.done():
                        done.set_exception(error)
                continue
            first = 0
            for part, done in taken:
                if not done.done():
                    done.set_result(statuses[first : first + len(part)])
                first += len(part)
