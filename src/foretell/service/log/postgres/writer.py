"""The writer: whatever has queued goes into one statement, which is durable or was never there.

It owns the connection that writes, and the stream of this process. If a connection is lost while a
statement is under way, the head of the stream says whether it was carried out: it is moved by every
statement, and by nobody else. A stream that others have sealed is left, and another is opened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import monotonic, perf_counter
from typing import Any

import asyncpg

from foretell.errors import ForetellError
from foretell.service.log.chain import Chain
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.connection import (
    AWAY,
    PASSING,
    close_connection,
    connect,
    driver_errors_wrapped,
)
from foretell.service.log.postgres.group import APPEND, Group, head_arguments
from foretell.service.log.postgres.log_clock import WALL_CLOCK, ServerClock
from foretell.service.log.postgres.settings import Timing
from foretell.service.log.postgres.streams import Stream, close_stream, open_stream, read_own
from foretell.service.log.protocol import Draft
from foretell.service.log.stamps import Stamps

logger = logging.getLogger("foretell.service")

RETRY_SECONDS = 0.25
"""Seconds between two attempts to reach the server."""
RESOLVE_SECONDS = 1.0
"""Seconds for which requests wait for a connection that was lost."""
AHEAD_SECONDS = 0.01
"""Seconds after which a statement is sent again that was ahead of the clock."""
DRAFTS_PER_GROUP = 2000
_MOVE = (
    "SELECT foretell.move_head($1, $2, $3, $4, $5, $6, $7, $8, $9, 0) AS moved, "
    f"{WALL_CLOCK} AS wall"
)


class Job:
    """Something to be written, and the future that is done when it is durable."""

    __slots__ = ("done", "drafts", "work")

    def __init__(
        self, done: asyncio.Future[Any], drafts: Sequence[Draft], work: Work | None
    ) -> None:
        """Append drafts, or do other work on the connection that writes."""
        self.done = done
        self.drafts = drafts
        self.work = work


Work = Callable[["Writer"], Awaitable[Any]]


class Sealed(Exception):
    """Others have sealed the stream: this process was out of contact."""


class Claimed(Exception):
    """Nothing was written: something in the group was claimed before."""


class Writer:
    """The one that writes the stream of this process; made in a running event loop."""

    def __init__(self, dsn: str, clock: ServerClock, timing: Timing, host: str) -> None:
        """Write to a database, once `start` has opened a stream."""
        self.closed: str | None = None
        """Why nothing can be written now."""
        self.stamps = Stamps(clock.clock, 0)
        self.contact = monotonic()
        """When the last statement was sent that was answered."""
        self.seen = 0
        self.commits, self.commit_seconds = 0, 0.0
        self.retries = 0
        self.on_commit: Callable[[], None] = lambda: None
        self.on_reopened: Callable[[int], Awaitable[None]]
        self.append_jobs: Callable[[list[Job]], Awaitable[None]]
        self.connection: Any = None
        self.stream: Stream
        self._chain = Chain()
        self._dsn = dsn
        self._clock = clock
        self._timing = timing
        self._host = host
        self._under_way: Group | None = None
        self._jobs: list[Job] = []
        self._queue: list[Job] = []
        self._wake = asyncio.Event()
        self._beat_wanted = False
        self._stopping = False
        self._opening: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self, connection: Any) -> None:
        """Open a stream, and begin to write."""
        self.connection = connection
        with driver_errors_wrapped(self._dsn):
            await self._open_stream()
        self._task = asyncio.create_task(self._run())

    def submit(self, drafts: Sequence[Draft] = (), work: Work | None = None) -> asyncio.Future[Any]:
        """Queue drafts, or other work; the future is done when it is durable."""
        self.refuse_if_closed()
        job = Job(asyncio.get_running_loop().create_future(), drafts, work)
        self._queue.append(job)
        self._wake.set()
        return job.done

    @property
    def queued(self) -> int:
        """How many drafts wait to be written."""
        return sum(len(job.drafts) for job in [*self._jobs, *self._queue])

    def refuse_if_closed(self) -> None:
        """Raise `LogClosed` while nothing can be written."""
        if self.closed is not None:
            raise LogClosed(
                f"the log cannot be written ({self.closed}): nothing was taken in, try again"
            )

    def beat_soon(self) -> None:
        """Let the head follow the time at once."""
        self._beat_wanted = True
        self._wake.set()

    async def close(self, head: int) -> None:
        """Write what is queued, seal the stream with a head at least that high, and stop."""
        self._stopping = True
        self._wake.set()
        if self._opening is not None:
            self._opening.cancel()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self.closed = "the log is closed"
        self._fail_jobs()
        if self.connection is not None:
            self.stamps.advance(head)
            with suppress(*PASSING, asyncpg.PostgresError):
                await close_stream(self.connection, self.stream, self.stamps.now())
            await close_connection(self.connection)

    async def abandon(self) -> None:
        """Stop as a crash does: the stream stays open, and nobody is told."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.closed = "the log is closed"
        if self.connection is not None:
            self.connection.terminate()

    async def _run(self) -> None:
        while not self._stopping or self._queue:
            await self._wait()
            try:
                await self._step()
            except Sealed:
                self._fail("this server was out of contact, and reads the log again")
                self._drop_connection()
            except (ForetellError, *PASSING) as error:
                await self._lose_contact(error)
            except asyncio.CancelledError:
                raise
            except Exception as error:
                logger.exception("the log could not be written")
                await self._lose_contact(error)

    async def _wait(self) -> None:
        if not self._queue and not self._beat_wanted and not self._stopping:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._timing.beat_seconds):
                    await self._wake.wait()
        self._wake.clear()

    async def _step(self) -> None:
        """Write what has queued, or say that the stream is alive."""
        if self.connection is None:
            before = self.stream
            await self._reconnect()
            if self.closed is not None or self.stream.stream != before.stream:
                self._reopened()
        self._jobs = self._take()
        if not self._jobs:
            self._beat_wanted = False
            await self.move_head(self.stamps.now())
            return
        began = perf_counter()
        work = self._jobs[0].work
        if work is None:
            await self.append_jobs(self._jobs)
        else:
            await self._do(self._jobs[0], work)
        self.commits += 1
        self.commit_seconds += perf_counter() - began
        self._jobs = []

    def _take(self) -> list[Job]:
        """Take jobs for one group: drafts of many, or one other work."""
        if not self._queue:
            return []
        if self._queue[0].work is not None:
            return [self._queue.pop(0)]
        taken, count = 0, 0
        for job in self._queue:
            if job.work is not None or (taken and count + len(job.drafts) > DRAFTS_PER_GROUP):
                break
            taken, count = taken + 1, count + len(job.drafts)
        jobs, self._queue = self._queue[:taken], self._queue[taken:]
        return jobs

    async def _do(self, job: Job, work: Work) -> None:
        try:
            result = await work(self)
        except LogClosed:
            raise
        except ForetellError as error:
            job.done.set_exception(error)
        else:
            if not job.done.done():
                job.done.set_result(result)

    async def move_head(self, head: int, claims: int | None = None) -> None:
        """Move the head of the stream, and its sum of claims where that changes."""
        head = max(head, self.stream.head)
        after = self.stream._replace(
            head=head, claims=self.stream.claims if claims is None else claims
        )
        sent, began = monotonic(), self._clock.clock.boot_clock()
        async with asyncio.timeout(self._timing.lease_seconds):
            row = await self.connection.fetchrow(
                _MOVE, *head_arguments(self.stream, after), self.seen
            )
        if row["moved"] == "sealed":
            raise Sealed
        self.contact = sent
        self._clock.note(row["wall"], began)
        self._note_clock()
        if row["moved"] == "moved":
            self.stream = after
            self.on_commit()

    def _note_clock(self) -> None:
        """Stand back while the clock of this machine is wrong."""
        wrong = self._clock.wrong
        if wrong is not None and self.closed is None:
            self._fail(wrong)
        elif wrong is None and self.closed is not None and "clock of this machine" in self.closed:
            self._reopened()

    def prepare(self, group_of: Callable[[Stream, Chain], Group]) -> Group:
        """Make a group that goes on at the end of the stream."""
        return group_of(self.stream, self._chain)

    async def send(self, group: Group) -> None:
        """Write a group; raise `Claimed` where something in it was claimed before."""
        self._under_way = group
        lock_milliseconds = max(1, round(self._timing.lease_seconds * 800))
        while True:
            sent = monotonic()
            try:
                async with asyncio.timeout(self._timing.lease_seconds):
                    moved = await self.connection.fetchval(
                        APPEND, *group.arguments(self.seen, lock_milliseconds)
                    )
            except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
                self.retries += 1
                continue
            except AWAY as error:
                self.retries += 1
                if await self._resolve(group, error):
                    break
                continue
            except asyncpg.PostgresError as error:
                if error.sqlstate == "FT001":
                    raise Claimed from None
                raise
            self.contact = sent
            if moved == "sealed":
                raise Sealed
            if moved == "moved":
                break
            await asyncio.sleep(AHEAD_SECONDS)
        self.stream, self._chain, self._under_way = group.stream, group.chain, None
        self.on_commit()

    async def _resolve(self, group: Group, error: BaseException) -> bool:
        """Connect again, and return whether a group was written."""
        deadline = monotonic() + RESOLVE_SECONDS
        self._drop_connection()
        while True:
            try:
                await self._reconnect()
                break
            except LogClosed:
                if monotonic() > deadline:
                    raise
                await asyncio.sleep(RETRY_SECONDS / 5)
        logger.warning("the connection to the database was lost (%s), and is back", error)
        if self.stream == group.stream:
            return True
        if self.stream == group.before:
            return False
        raise Sealed

    async def _reconnect(self) -> None:
        """Connect again, find out where the stream ends, and open another if it is sealed."""
        connection = await connect(self._dsn)
        try:
            with driver_errors_wrapped(self._dsn):
                found = await read_own(connection, self.stream.stream)
                self.connection = connection
                if found.sealed:
                    await self._open_stream()
                    return
                group = self._under_way
                if group is not None and found.link == group.stream.link:
                    self._chain = group.chain
                self.stream = found
        except BaseException:
            self._drop_connection()
            connection.terminate()
            raise

    async def open_another(self) -> None:
        """Leave the stream, which is not there any more, and open another."""
        with driver_errors_wrapped(self._dsn):
            await self._open_stream()
        self.on_commit()

    async def _open_stream(self) -> None:
        self.stream = await open_stream(self.connection, self._clock.clock, self._host)
        self._chain, self._under_way = Chain(), None
        self.stamps.settle_all()
        self.stamps.slot = self.stream.slot
        self.stamps.advance(self.stream.head)
        self.contact = monotonic()

    async def _lose_contact(self, error: BaseException) -> None:
        self._fail(str(error) or type(error).__name__)
        self._drop_connection()
        await asyncio.sleep(RETRY_SECONDS)

    def _drop_connection(self) -> None:
        if self.connection is not None:
            self.connection.terminate()
            self.connection = None

    def _fail(self, reason: str) -> None:
        """Refuse everything until the log can be written again."""
        if self.closed is None:
            logger.error("the log is closed: %s", reason)
        self.closed = reason
        self.stamps.settle_all()
        if self._opening is not None:
            self._opening.cancel()
        self._fail_jobs()

    def _fail_jobs(self) -> None:
        """Fail all that is not durable: nobody knows whether it was taken in."""
        jobs, self._jobs, self._queue = [*self._jobs, *self._queue], [], []
        for job in jobs:
            if not job.done.done():
                job.done.set_exception(
                    LogClosed(
                        f"the log cannot be written ({self.closed}): whether this was taken in is "
                        f"not known, send the same again"
                    )
                )
                job.done.exception()  # read once: asyncio warns where nobody waits any more

    def _reopened(self) -> None:
        """Serve again, once all that was written meanwhile has been read."""
        self._opening = asyncio.create_task(self._open_when_read())

    async def _open_when_read(self) -> None:
        if self.stream.sealed or self.connection is None:
            return
        await self.on_reopened(self.stream.head)
        self.closed = None
        logger.warning("the log is open again at %d", self.stream.head)
