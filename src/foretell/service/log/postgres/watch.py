"""The watch: how far all streams have come, and which of them have stopped.

A stream that was read twice unchanged, a lease apart, is sealed, by a statement that repeats what
was read. No clock is compared with another's: the lease passes on the watcher's own.

A stream never goes back. If one does, a standby has taken the place of the server and has not got
all records, or a copy was restored: then what was read of the log must be read again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import asyncpg

from foretell.errors import ForetellError
from foretell.service.log.errors import Damaged
from foretell.service.log.postgres.connection import PASSING, close_connection, connect_again
from foretell.service.log.postgres.settings import StreamTiming
from foretell.service.log.postgres.streams import (
    OpenStream,
    read_open_streams,
    read_streams,
    seal,
)
from foretell.service.log.stream_row import StreamRow

logger = logging.getLogger("foretell.service")

RETRY_SECONDS = 0.1
STANDBY_SECONDS = 5.0
"""Seconds after which it is asked again whether there is a synchronous standby."""
SURVIVES = (
    "an acknowledged record survives the loss of the primary: a synchronous standby has it too"
)
LOST = (
    "an acknowledged record is on the disk of the primary alone: "
    "the loss of that disk loses what no standby has yet"
)
RANK_SECONDS = 1.0
"""Seconds after which ranks are kept."""


class StreamWatch:
    """Looks at all open streams again and again."""

    def __init__(self, dsn: str, timing: StreamTiming, own: Callable[[], int]) -> None:
        """StreamWatch the streams of a database; `own` is the number of this process's stream."""
        self.watermark = 0
        """The seq below which the log is complete."""
        self.streams: list[OpenStream] = []
        self.sealings = 0
        """How many streams of others this process has sealed."""
        self.durability = ""
        """Whether an acknowledged record survives the loss of the primary, in a sentence."""
        self.server: Any = None
        """When the server was started whose log is the one that was read."""
        self.on_moved: Callable[[], None] = lambda: None
        self.on_replaced: Callable[[], None] = lambda: None
        self.own = own
        self._dsn = dsn
        self._timing = timing
        self._marks: dict[int, StreamRow] | None = {}
        """Where each stream was that was open; None while a copy is restored."""
        self._opened: set[int] = set()
        self._unchanged: dict[int, tuple[int, Any, float]] = {}
        """For each stream of others its head and beat, and since when they have not changed."""
        self._looked = 0.0
        self._ranked = 0.0
        self._asked = 0.0
        self._connection: Any = None
        self._wake = asyncio.Event()
        self._moved = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Look once, and then again and again."""
        self._connection = await connect_again(self._dsn)
        await self._look()
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._connection is not None:
            await close_connection(self._connection)

    def wake(self) -> None:
        """Look again soon: something was written."""
        self._wake.set()

    async def wait_until(self, condition: Callable[[], bool], seconds: float | None) -> bool:
        """Wait until a condition on the streams holds; return whether it does."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(condition)
        return condition()

    async def _run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.poll_seconds):
                    await self._wake.wait()
            self._wake.clear()
            try:
                if self._connection is None:
                    self._connection = await connect_again(self._dsn)
                await self._look()
            except (ForetellError, *PASSING, asyncpg.PostgresError) as error:
                level = logging.ERROR if isinstance(error, Damaged) else logging.DEBUG
                logger.log(level, "the streams could not be read: %s", error)
                if self._connection is not None:
                    self._connection.terminate()
                    self._connection = None
                await asyncio.sleep(RETRY_SECONDS)
            await asyncio.sleep(self._timing.poll_seconds / 20)  # many commits are one look

    async def _look(self) -> None:
        async with asyncio.timeout(self._timing.lease_seconds):
            self.streams = await read_open_streams(self._connection)
        if self.streams:
            await self._compare_with_marks()
            lowest = min(one.stream.head for one in self.streams)
            self.watermark = max(self.watermark, lowest)
        async with self._moved:
            self._moved.notify_all()
        self.on_moved()
        await self._seal_stopped()
        await self._keep_ranks()
        await self._ask_durability()

    async def _compare_with_marks(self) -> None:
        """Find out whether the log still holds all that was read, and note how far it has come."""
        now = {one.stream.stream: one.stream for one in self.streams}
        server, opened = self.streams[0].server, set(now)
        known = self._marks or {}
        asked = set(known) if server != self.server else self._opened & known.keys()
        if closed := asked - opened:
            rows = await read_streams(self._connection, "stream = ANY($1::integer[])", list(closed))
            now.update((one.stream, one) for one in rows)
        self.server, self._opened = server, opened
        if self._marks is None:
            return
        lost = [number for number in asked if not _goes_on(known[number], now.get(number))]
        self._marks = now if lost else known | now
        if lost:
            logger.error("records of the streams %s are lost, or a copy was restored", lost)
            self.watermark = 0
            self.on_replaced()

    def ignore_marks(self, *, ignored: bool) -> None:
        """Do not compare with what was read before, while a copy is restored; begin again then."""
        self._marks = None if ignored else {}

    async def _seal_stopped(self) -> None:
        now, lease = monotonic(), self._timing.lease_seconds
        if now - self._looked > lease / 3:  # who could not look does not know who was alive
            self._unchanged = {}
        self._looked = now
        known, self._unchanged = self._unchanged, {}
        for found in self.streams:
            stream = found.stream
            if stream.stream == self.own():
                continue
            head, beat, since = known.get(stream.stream, (0, None, now))
            if (head, beat) != (stream.head, found.beat):
                since = now
            self._unchanged[stream.stream] = (stream.head, found.beat, since)
            if now - since > lease and await seal(self._connection, found):
                self.sealings += 1
                logger.warning("stream %d has stopped, and is sealed", stream.stream)
                self.wake()

    async def _ask_durability(self) -> None:
        """Find out now and then whether commits wait for a standby."""
        now = monotonic()
        if not self.durability or now - self._asked > STANDBY_SECONDS:
            self._asked = now
            waits = await self._connection.fetchval(
                "SELECT current_setting('synchronous_standby_names') <> '' "
                "AND current_setting('synchronous_commit') NOT IN ('off', 'local')"
            )
            self.durability = SURVIVES if waits else LOST

    async def _keep_ranks(self) -> None:
        """Keep ranks now and then; of all deciders the one with the oldest stream does it."""
        now = monotonic()
        oldest = min((one.stream.stream for one in self.streams), default=None)
        if oldest == self.own() and now - self._ranked > RANK_SECONDS:
            self._ranked = now
            await self._connection.execute("SELECT foretell.keep_ranks($1)", self.watermark)


def _goes_on(mark: StreamRow, now: StreamRow | None) -> bool:
    """Return whether a stream still holds all that it held."""
    if mark.records == 0:
        return True
    if now is None or now.first != mark.first or now.records < mark.records:
        return False
    return now.records > mark.records or now.link == mark.link
