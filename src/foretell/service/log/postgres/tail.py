"""The tail: records of all streams in order, as far as no stream can add one before them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import suppress

from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.pool import Pool
from foretell.service.log.postgres.rows import COLUMNS, row_of
from foretell.service.log.postgres.settings import StreamTiming
from foretell.service.log.postgres.watch import StreamWatch
from foretell.service.log.protocol import Tail
from foretell.service.log.record import record_of

RECORDS_PER_READ = 1000


class TailFollower:
    """One that follows the log from a seq on."""

    def __init__(
        self,
        after: int,
        pool: Pool,
        watch: StreamWatch,
        timing: StreamTiming,
        folded: Callable[[], Collection[int]] | None = None,
    ) -> None:
        """Begin at once with what is there.

        `folded` returns the campaigns whose decisions and feedback are wanted; without it all are.
        """
        self.done = 0
        """Up to where what was handed over has been dealt with."""
        self._after = after
        self._upto = after + 1
        self._pool = pool
        self._watch = watch
        self._timing = timing
        self._folded = folded
        self._end: str | None = None
        self._wake = asyncio.Event()
        self._wake.set()

    def wake(self) -> None:
        """Look again: the watermark has moved."""
        if self._watch.watermark > self._upto:
            self._wake.set()

    def end(self, reason: str) -> None:
        """Raise `LogClosed` instead of the next item."""
        self._end = reason
        self._wake.set()

    async def next(self) -> Tail:
        """Return the next records; none if there are none for a while."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._timing.poll_seconds):
                await self._wake.wait()
        if self._end is not None:
            raise LogClosed(self._end)
        self._wake.clear()
        upto = self._watch.watermark
        if upto <= self._upto:
            return Tail([], self._upto)
        try:
            rows = await self._pool.fetch(
                f"SELECT {COLUMNS} FROM foretell.events WHERE seq > $1 AND seq < $2 "
                "AND ($4::bigint[] IS NULL OR decision = 0 OR campaign = ANY($4)) "
                "ORDER BY seq LIMIT $3",
                self._after,
                upto,
                RECORDS_PER_READ,
                None if self._folded is None else list(self._folded()),
            )
        except LogClosed:
            await asyncio.sleep(self._timing.poll_seconds)
            return Tail([], self._upto)
        records = [record_of(row_of(row)) for row in rows]
        if records:
            self._after = records[-1].seq
        if len(records) == RECORDS_PER_READ:
            upto = records[-1].seq + 1
            self._wake.set()
        self._upto = upto
        return Tail(records, upto)
