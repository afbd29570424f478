"""Feedback on its way: it waits until it is due, and goes out in batches."""

from __future__ import annotations

import asyncio
import heapq
import itertools

import numpy as np

from foretell.protocol import FeedbackItem
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.traffic.faults import Faults, copy_delay
from foretell.traffic.service import DecisionService

_Entry = tuple[float, int, FeedbackItem]
"""A round or a moment, the order of arrival, and the event that waits for it."""


class FeedbackQueue:
    """Events that wait for a round or for a moment of the server; of some there are two copies."""

    def __init__(self, faults: Faults, chance: np.random.Generator) -> None:
        """Start empty; `chance` draws the copies and the order."""
        self._faults = faults
        self._chance = chance
        self._rounds: list[_Entry] = []
        self._moments: list[_Entry] = []
        self._order = itertools.count()

    def after_round(self, t: int, event: FeedbackItem) -> None:
        """Send an event after round t."""
        heapq.heappush(self._rounds, (t, next(self._order), event))
        if self._faults.twice(self._chance):
            again = t + copy_delay(self._chance)
            heapq.heappush(self._rounds, (again, next(self._order), event))

    def after_moment(self, moment: float, event: FeedbackItem) -> None:
        """Send an event once the server's clock has passed a moment."""
        heapq.heappush(self._moments, (moment, next(self._order), event))

    def due(self, t: int, now: float) -> list[FeedbackItem]:
        """Take out what is sent after round t, which was decided at `now`, in any order."""
        taken: list[FeedbackItem] = []
        for waiting, limit in ((self._rounds, t), (self._moments, now)):
            while waiting and waiting[0][0] <= limit:
                taken.append(heapq.heappop(waiting)[2])
        return [taken[index] for index in self._chance.permutation(len(taken))]


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
