"""The tail: committed records go straight to whoever follows the log.

A follower that is behind reads from the database, until it has caught up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from foretell.service.log.errors import LogClosed
from foretell.service.log.protocol import Tail
from foretell.service.log.stamps import Stamps
from foretell.service.model.events import Record

TICK_SECONDS = 0.05
"""Seconds after which a tail says how far time has come, while no record comes."""
RECORDS_PER_READ = 1000
BUFFERED_RECORDS = 20_000
"""Records that are held for a follower; if it takes longer, it reads them from the database."""
Read = Callable[[int, int, int], Awaitable[list[Record]]]
"""Reads the next records between two seqs, both excluded, and at most so many."""


class Follower:
    """One that follows the log from a seq on."""

    def __init__(self, after: int, stamps: Stamps, read: Read) -> None:
        """Begin behind: what is in the database comes first."""
        self._after = after
        self._stamps = stamps
        self._read = read
        self._behind = True
        self._limit: int | None = None
        """Up to where it reads from the database, before it takes what is buffered."""
        self._buffer: list[Record] = []
        self._handed = False  # whether it has records for which it has not come back yet
        self._upto = 0
        self._end: str | None = None
        self._wake = asyncio.Event()
        self._wake.set()

    @property
    def caught_up(self) -> bool:
        """Whether all that was committed was taken, and dealt with."""
        return not (self._behind or self._limit is not None or self._buffer or self._handed)

    def offer(self, records: list[Record]) -> None:
        """Hand over records that were just committed."""
        if not self._behind:
            self._buffer += records
            if len(self._buffer) > BUFFERED_RECORDS:
                self.fall_behind()
        self._wake.set()

    def fall_behind(self) -> None:
        """Read from the database next: nobody knows what of the last records was written."""
        self._behind, self._buffer = True, []
        self._wake.set()

    def wake(self) -> None:
        """Say at once how far time has come."""
        self._wake.set()

    def end(self, reason: str) -> None:
        """Raise `LogClosed` instead of the next item."""
        self._end = reason
        self._wake.set()

    async def next(self) -> Tail:
        """Return the next records; none if there are none for a while."""
        self._handed = False
        if self._limit is None and not self._wake.is_set():
            tick = asyncio.get_running_loop().call_later(TICK_SECONDS, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                tick.cancel()
        if self._end is not None:
            raise LogClosed(self._end)
        self._wake.clear()
        if self._limit is None and self._behind:  # what is committed from now on is offered
            self._behind, self._limit = False, self._stamps.complete()
        if self._limit is not None:
            return await self._next_read(self._limit)
        records, self._buffer = self._buffer, []
        return self._item(records, self._stamps.complete())

    async def _next_read(self, limit: int) -> Tail:
        """Read from the database; while it cannot be read, there is nothing new."""
        try:
            records = await self._read(self._after, limit, RECORDS_PER_READ)
        except LogClosed:
            self._limit = None
            self.fall_behind()
            await asyncio.sleep(TICK_SECONDS)
            return Tail([], self._upto)
        if len(records) == RECORDS_PER_READ:
            return self._item(records, records[-1].seq + 1)
        self._limit = None
        self._wake.set()
        return self._item(records, limit)

    def _item(self, records: list[Record], upto: int) -> Tail:
        if records and records[0].seq <= self._after:  # it began to follow in the future
            records = [one for one in records if one.seq > self._after]
        if records:
            self._after, self._handed = records[-1].seq, True
        self._upto = upto
        return Tail(records, upto)
