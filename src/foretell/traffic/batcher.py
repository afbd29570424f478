"""The post: what all runs report at one time travels in one batch."""

from __future__ import annotations

import asyncio

from foretell.traffic.service import Event, Service

MOST = 2000
"""Events that a batch may hold."""


class Post:
    """Carries events to a server, one batch at a time: what comes meanwhile is in the next."""

    def __init__(self, service: Service) -> None:
        """Start with nothing to carry."""
        self._service = service
        self._waiting: list[tuple[list[Event], asyncio.Future[list[str]]]] = []
        self._round: asyncio.Task[None] | None = None

    async def send(self, events: list[Event]) -> list[str]:
        """Hand in events, and give what became of each once the server has them."""
        if not events:
            return []
        done: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        self._waiting.append((events, done))
        if self._round is None or self._round.done():
            self._round = asyncio.create_task(self._carry())
        return await done

    async def _carry(self) -> None:
        while self._waiting:
            taken = [self._waiting.pop(0)]
            size = len(taken[0][0])
            while self._waiting and size + len(self._waiting[0][0]) <= MOST:
                size += len(self._waiting[0][0])
                taken.append(self._waiting.pop(0))
            try:
                statuses = await self._service.report([one for part, _ in taken for one in part])
            except Exception as error:  # noqa: BLE001  it is raised where it was sent from
                for _, done in taken:
                    if not done.done():
                        done.set_exception(error)
                continue
            place = 0
            for part, done in taken:
                if not done.done():
                    done.set_result(statuses[place : place + len(part)])
                place += len(part)
