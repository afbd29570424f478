"""The log in PostgreSQL: this process writes one of its streams, and reads all of them."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Self, cast

from foretell.protocol.fields import POSTGRES_COPY, CopyKind
from foretell.service.database_address import without_password
from foretell.service.log.errors import LogClosed
from foretell.service.log.moving import refuse_moved, refuse_unfinished
from foretell.service.log.postgres import side_tables
from foretell.service.log.postgres.append import append_jobs
from foretell.service.log.postgres.connection import (
    check_schema,
    connect,
    driver_errors_wrapped,
    prepare,
)
from foretell.service.log.postgres.copies import back_up, put_in_place
from foretell.service.log.postgres.fold_sharing import PostgresFoldSharing
from foretell.service.log.postgres.log_clock import clock_of
from foretell.service.log.postgres.own_stream import OwnStream
from foretell.service.log.postgres.pool import LoopThread, Pool, loop_thread
from foretell.service.log.postgres.settings import StreamTiming, timing_of
from foretell.service.log.postgres.side_tables import PostgresReader
from foretell.service.log.postgres.streams import read_open_streams, read_watermark
from foretell.service.log.postgres.tail import TailFollower
from foretell.service.log.postgres.watch import StreamWatch
from foretell.service.log.postgres.writer import StreamWriter
from foretell.service.log.protocol import (
    Draft,
    LogCheck,
    LogCondition,
    LogGauges,
    LogReader,
    SavedState,
    Tail,
    Written,
)
from foretell.service.model.events import moment

REPLACED = "the log was replaced, by a copy or a standby that lacks records: read it again"


class PostgresLog(PostgresReader):
    """The log of one database, which other processes may write too; made by `open`."""

    def __init__(
        self, pool: Pool, writer: StreamWriter, watch: StreamWatch, timing: StreamTiming
    ) -> None:
        """Put the parts together."""
        super().__init__(pool)
        self.dsn = pool.dsn
        self.restores = 0
        """How often a copy was put in place of the log, which must then be read again."""
        self.writer = writer
        self._own = writer.own
        self.watch = watch
        self._timing = timing
        self._followers: set[TailFollower] = set()
        writer.append_jobs = partial(append_jobs, writer.own)
        writer.own.on_commit = watch.wake
        writer.on_reopened = self._read_up_to
        watch.on_moved = self._wake_followers
        watch.on_replaced = self._be_replaced
        self.sharing = PostgresFoldSharing(pool, watch, timing, self._tail)
        """How the fold is shared with others that write the log."""

    @classmethod
    async def open(cls, dsn: str, *, time_scale: float | None = None) -> Self:
        """Open the log in a database, making it where there is none."""
        connection = await connect(dsn)
        pool = watch = None
        try:
            settings = await prepare(connection, dsn)
            refuse_moved(settings, without_password(dsn))
            with driver_errors_wrapped(dsn):
                clock = await clock_of(connection, settings, dsn, time_scale)
            timing = timing_of(settings)
            pool = await Pool.open(dsn)
            own = OwnStream(dsn, clock, timing, f"{socket.gethostname()}:{os.getpid()}")
            watch = StreamWatch(dsn, timing, lambda: own.row.stream)
            log = cls(pool, StreamWriter(own, timing), watch, timing)
            await own.start(connection)
            await watch.start()
            log.writer.start()
        except BaseException:
            connection.terminate()
            if watch is not None:
                await watch.stop()
            if pool is not None:
                await pool.close()
            raise
        return log

    @property
    def closed(self) -> str | None:
        """Why the log cannot be written now; None while it can."""
        if self.writer.closed is not None:
            return self.writer.closed
        silent = monotonic() - self._own.contact
        if silent > self._timing.lease_seconds:
            return f"the database has not answered for {silent:.0f} s"
        return None

    @property
    def outdated(self) -> str | None:
        """Why what was read may be out of date: others may have sealed the stream, and go on."""
        silent = monotonic() - self.writer.up_to_date_since
        return self.closed if silent > self._timing.lease_seconds else None

    @property
    def busy(self) -> bool:
        """Whether records are being written now."""
        return self.writer.queued > 0

    @property
    def time_scale(self) -> float:
        """How many times as fast as the machine's clock log time runs."""
        return self._own.stamps.clock.scale

    async def append(self, drafts: Sequence[Draft]) -> list[Written]:
        """Write records, durable and in order; raise `LogClosed` if none of them was taken in."""
        written: list[Written] = await self.writer.submit(drafts)
        return written

    async def tail(self, after: int) -> AsyncIterator[Tail]:
        """Follow the log after a seq: an item for every commit, and while nothing comes, often."""
        async for item in self._tail(after):
            yield item

    async def _tail(
        self, after: int, folded: Callable[[], Collection[int]] | None = None
    ) -> AsyncIterator[Tail]:
        follower = TailFollower(after, self._pool, self.watch, self._timing, folded)
        self._followers.add(follower)
        try:
            while True:
                item = await follower.next()
                yield item
                follower.done = item.upto if folded is None else self._own.seen
        finally:
            self._followers.discard(follower)

    def now(self) -> int:
        """Return a seq for this moment, which no later record of this process will be below."""
        now = self._own.stamps.now()
        if now > self.watch.watermark:
            self.writer.beat_soon()
        return now

    def time(self) -> int:
        """Return the moment that it is by the clock of the log, also while it is closed."""
        return moment(self._own.stamps.now())

    def head(self) -> int:
        """Return the seq below which all records of all streams are durable."""
        return self.watch.watermark

    def note_seen(self, position: int) -> None:
        """Let the others know up to where this process has folded the log."""
        self._own.seen = max(self._own.seen, position)

    async def propagation_seconds(self) -> float:
        """Return how long others may take to fold a record: 0 where nobody else writes now."""
        async with self._pool.connection() as connection:
            streams = await read_open_streams(connection)
        alone = all(one.stream.stream == self._own.row.stream for one in streams)
        return 0.0 if alone else 2 * self._timing.lease_seconds

    async def seen_by_all(self, position: int) -> None:
        """Wait until every process that writes has folded the log up to a seq."""

        def seen() -> bool:
            own = self._own.row.stream
            streams = self.watch.streams
            return all(one.stream.stream == own or one.seen >= position for one in streams)

        if not await self.watch.wait_until(seen, 2 * self._timing.lease_seconds + 5):
            raise LogClosed(
                "the change is written, but another server that decides has not taken it up: "
                "look again soon"
            )

    @contextmanager
    def reader(self) -> Iterator[LogReader]:
        """Open a reader for another thread, which sees what is durable by then."""
        with open_postgres_reader(self.dsn) as reader:
            yield reader

    async def save_state(self, campaign: int, state: SavedState) -> None:
        """Keep a state; its position is not above the head, which is made durable before it."""
        server = self.watch.server  # the one that the records were read from
        if self._own.row.head < state.position:
            await self.writer.submit(work=side_tables.move_head_to(state.position))
        await side_tables.save_state(self._pool, campaign, state, server)

    async def erase(self, campaign: int, unit: bytes) -> int:
        """Forget which decisions belong to a unit, and their contexts; return their number."""
        erased: int = await self.writer.submit(work=side_tables.erase(campaign, unit))
        return erased

    async def add_counts(self, campaign: int, name: str, by: int) -> None:
        """Count what leaves no record, such as duplicates."""
        await side_tables.add_counts(self._pool, campaign, name, by)

    def scratch_folder(self) -> TemporaryDirectory[str]:
        """Make a private folder for copies: the log itself is on another machine."""
        return TemporaryDirectory(prefix="foretell-")

    async def save_uses(self, uses: Mapping[str, int]) -> None:
        """Keep for some keys the moment at which each was last used."""
        await side_tables.save_uses(self._pool, uses)

    @property
    def copy_kind(self) -> CopyKind:
        """What a copy is that `backup` writes."""
        return POSTGRES_COPY

    async def backup(self, target: str) -> None:
        """Write a consistent copy of the log to a file, while it is used."""
        await asyncio.to_thread(back_up, self.dsn, target)

    async def restore(self, copy: str) -> None:
        """Replace all that the log holds by a copy, once that is checked and written."""

        async def work(own: OwnStream) -> None:
            self.watch.ignore_marks(ignored=True)
            try:
                await asyncio.to_thread(put_in_place, self.dsn, copy, own.row.stream)
                self.restores += 1
                await own.open_another()
            finally:
                self.watch.ignore_marks(ignored=False)
            self._end_followers()

        await self.writer.submit(work=work)

    def gauges(self) -> LogGauges:
        """Return the numbers that operators watch."""
        writer = self.writer
        return LogGauges(
            writer.queued,
            writer.commits,
            writer.commit_seconds,
            self._own.stamps.clock.ahead_seconds,
            max(0, moment(self.head()) - moment(self.watch.watermark)) / 1e6,
        )

    async def stored_bytes(self) -> int:
        """Return how much room the tables and their indexes take."""
        row = await self._pool.fetchrow(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
            "WHERE relnamespace = 'foretell'::regnamespace AND relkind IN ('r', 'm')"
        )
        return int(row[0])

    def condition(self) -> LogCondition:
        """Return who writes the log, and whether an acknowledged record survives the primary."""
        return LogCondition(max(1, len(self.watch.streams)), self.watch.durability)

    async def close(self, state_head: int = 0) -> None:
        """Write what is queued, and stop; the head is at least `state_head` then."""
        await self.writer.close(state_head)
        await self._stop()

    async def abandon(self) -> None:
        """Stop as a crash does: others find out that the stream does not move any more."""
        await self.writer.abandon()
        await self._stop()

    async def _stop(self) -> None:
        await self.watch.stop()
        for follower in self._followers:
            follower.end("the log is closed")
        await self._pool.close()

    def _wake_followers(self) -> None:
        for follower in self._followers:
            follower.wake()

    def _be_replaced(self) -> None:
        self.restores += 1
        self._own.seen = 0
        self._end_followers()

    def _end_followers(self) -> None:
        """Let those that follow read all again."""
        for follower in self._followers:
            follower.end(REPLACED)

    async def _read_up_to(self, head: int) -> None:
        """Wait until those that follow have taken all below a head: keys may have been revoked.

        One that folds may just have lost its place, and be about to begin again.
        """
        followers, own = self._followers, self._own

        def read() -> bool:
            folded = own.seen >= head or own.seen == 0  # nobody folds, or must begin again
            return folded and all(one.done >= head for one in followers)

        await self.watch.wait_until(read, None)


class _ThreadReader:
    """A reader whose work is done in a thread of its own, whichever event loop asks."""

    def __init__(self, thread: LoopThread, reader: PostgresReader, pool: Pool) -> None:
        self._thread = thread
        self._reader = reader
        self._pool = pool

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = getattr(self._reader, name)

        async def call(*values: Any, **named: Any) -> Any:
            return await asyncio.wrap_future(self._thread.submit(method(*values, **named)))

        return call

    def head(self) -> int:
        """Return the seq below which all records of all streams are durable."""

        async def read() -> int:
            async with self._pool.connection() as connection:
                return await read_watermark(connection)

        found: Future[int] = self._thread.submit(read())
        return found.result()

    def check(self, pause: Callable[[int], None] = lambda _: None) -> LogCheck:
        """Check everything that is stored."""
        return self._reader.check(pause)


@contextmanager
def open_postgres_reader(dsn: str) -> Iterator[LogReader]:
    """Open a reader of a log, which deciders may be writing meanwhile."""
    with loop_thread() as thread:
        pool = thread.submit(Pool.open(dsn)).result()
        try:
            thread.submit(_check_schema(pool)).result()
            yield cast("LogReader", _ThreadReader(thread, PostgresReader(pool), pool))
        finally:
            with suppress(Exception):
                thread.submit(pool.close()).result()


async def _check_schema(pool: Pool) -> None:
    async with pool.connection() as connection:
        settings = await check_schema(connection, pool.dsn)
    refuse_unfinished(settings, without_password(pool.dsn))
