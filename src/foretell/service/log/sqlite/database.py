"""An open database, from its first transaction to its last, through every failure in between.

If a group of drafts cannot be committed, nobody knows whether it was: all are refused, and the
database is closed until it could be opened again, with what is really on disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from math import inf
from time import monotonic
from typing import Any

import apsw

from foretell.service.log.clock import Clock
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.protocol import Accepted, Draft
from foretell.service.log.sqlite import side_tables
from foretell.service.log.sqlite.appender import Appender
from foretell.service.log.sqlite.connections import Connections, open_connections
from foretell.service.log.sqlite.driver_errors import damage_wrapped
from foretell.service.log.sqlite.lock import Lock, refuse_used_file
from foretell.service.log.sqlite.log_clock import clock_of
from foretell.service.log.sqlite.names import Names
from foretell.service.log.sqlite.restore import remove_leftovers
from foretell.service.log.sqlite.stream import write_stream
from foretell.service.log.sqlite.tail import Follower
from foretell.service.log.sqlite.watch import Watch
from foretell.service.log.sqlite.writer import Job, Writer
from foretell.service.log.stamps import Stamps
from foretell.service.model.events import Record

logger = logging.getLogger("foretell.service")

REOPEN_SECONDS = 0.5
"""Seconds between two attempts to open the database again."""
REPEAT_WARNING_SECONDS = 60.0
"""Seconds after which the warning that they fail is repeated."""


CATCH_UP_SECONDS = 2.0
"""Seconds that a log which opens again waits at most for those that follow it."""
CATCH_UP_LOOKS = 400


class Database:
    """A database that this process alone writes; made in a running event loop."""

    def __init__(
        self,
        path: str,
        *,
        relaxed: bool,
        time_scale: float | None,
        vfs: str | None,
        clock: Clock | None,
    ) -> None:
        """Open a database, making it where there is none."""
        self.path = path
        self.closed: str | None = None
        """Why nothing can be written now."""
        self.followers: set[Follower] = set()
        self.jobs: dict[Job, None] = {}
        """All that is not durable yet, in order."""
        self.restores = 0
        """How often another database was put in the place of the one before."""
        self.commits, self.commit_seconds = 0, 0.0
        self._relaxed = relaxed
        self._vfs = vfs
        self._reopening: asyncio.Task[None] | None = None
        self._left: Connections | None = None
        """The connections that are closed, after a failure or for a restore."""
        self._closing = False
        self._stalled = False
        """Whether the log is closed because a commit takes too long."""
        self._lock = Lock(path)
        try:
            refuse_used_file(path)  # else they may not be left over, but in use
            remove_leftovers(path)
            opened = open_connections(path, relaxed=relaxed, vfs=vfs)
            try:
                self.stamps = Stamps(clock_of(opened, path, time_scale, clock), opened.stream.head)
                self._use(opened)
            except BaseException:
                opened.abandon()
                raise
        except BaseException:
            self._lock.undo()
            raise
        self._watch = Watch(self)

    @property
    def names(self) -> Names:
        """The names of the files, as they were opened."""
        return self._opened.names

    @property
    def reader(self) -> apsw.Connection:
        """The connection that only reads."""
        return self._opened.reader

    def submit(
        self,
        drafts: Sequence[Draft] = (),
        work: Callable[[Appender], Any] | None = None,
        *,
        truncate: bool = False,
    ) -> asyncio.Future[Any]:
        """Queue drafts, or other work, for the next transaction; return when it is durable."""
        self.refuse_if_closed()
        done = asyncio.get_running_loop().create_future()
        job = Job(done, drafts, work, truncate=truncate)
        self.jobs[job] = None
        self._writer.put(job)
        return done

    def refuse_if_closed(self) -> None:
        """Raise `LogClosed` while nothing can be written."""
        if self.closed is not None:
            raise LogClosed(
                f"the log cannot be written ({self.closed}): nothing was taken in, try again"
            )

    def fail(self, error: Exception) -> None:
        """Refuse everything until the database is open again."""
        if self.closed is None or self._stalled:
            self._stalled = False
            self._close_and_reopen(error, self._reopen)

    def stall(self, seconds: float) -> None:
        """Refuse everything until the commit is done that has taken so long."""
        if self.closed is None:
            self._stalled = True
            self.closed = f"the disk has not answered for {seconds:.0f} s"
            logger.error("the log is closed: %s", self.closed)
            self._fail_jobs()

    async def replace(self, put_in_place: Callable[[], None]) -> None:
        """Close the database, let another be put in its place, and go on with that.

        If it cannot be put there, go on with the same as before.
        """
        self.closed = "a copy is being restored"
        reopen = self._reopen
        try:
            await self._stop()
            self._opened.close()
            self._left = self._opened
            await asyncio.to_thread(put_in_place)
            self.restores += 1
            reopen = self._open_another
        finally:
            try:
                await reopen()
                self.closed = None
            except Exception as error:  # noqa: BLE001  (whatever it is, it is tried again)
                self._close_and_reopen(error, reopen)

    async def close(self, head: int) -> None:
        """Write what is queued, and a head at least that high, and let others use the database."""
        self._closing = True
        await self._watch.stop()
        if self._reopening is not None:
            self._reopening.cancel()
            await asyncio.gather(self._reopening, return_exceptions=True)
        if self.closed is None:
            self.stamps.advance(head)
            await asyncio.gather(self.submit(work=side_tables.keep_head), return_exceptions=True)
        await self._stop()
        if self.closed is None:
            self._opened.close()
        else:
            try:
                await self._leave()
            except Exception:
                logger.exception("what was in the database could not be saved")
        self.closed = "the log is closed"
        self._end_followers(self.closed)
        self._lock.release()

    @damage_wrapped()
    def _use(self, opened: Connections) -> None:
        """Read and write on these connections from now on."""
        appender = Appender(opened.writer, opened.stream, self.stamps)
        self._opened = opened
        self._writer = Writer(
            appender,
            relaxed=self._relaxed,
            before_answer=opened.before_answer,
            after_checkpoint=opened.names.note_size,
            on_done=self._done,
            on_fail=partial(self._fail_writing, opened),
        )

    def _done(self, jobs: list[Job]) -> None:
        """Hand on what was committed: first to those that wait, then to those that follow."""
        self.stamps.settle()
        if self._stalled and (self._reopening is None or self._reopening.done()):
            self._reopening = asyncio.create_task(self._end_stall())
        records: list[Record] = []
        for job in jobs:
            self.jobs.pop(job, None)
            if isinstance(job.result, list):
                records += [one.record for one in job.result if isinstance(one, Accepted)]
            if job.done.done():
                continue
            if isinstance(job.result, Damaged):
                job.done.set_exception(job.result)
            else:
                job.done.set_result(job.result)
        for follower in self.followers:
            follower.offer(records)

    def _fail_writing(self, opened: Connections, error: Exception) -> None:
        if opened is self._opened:
            self.fail(error)

    def _close_and_reopen(self, error: Exception, reopen: Callable[[], Awaitable[None]]) -> None:
        self.closed = str(error)
        logger.error("the log is closed: %s", error)
        self._fail_jobs()
        if not self._closing:  # others may use the database soon
            self._reopening = asyncio.create_task(self._reopen_forever(reopen))

    def _fail_jobs(self) -> None:
        """Fail all that is not durable: nobody knows whether it was taken in."""
        jobs, self.jobs = self.jobs, {}
        for job in jobs:
            if not job.done.done():
                job.done.set_exception(
                    LogClosed(
                        f"the log cannot be written ({self.closed}): whether this was taken in is "
                        f"not known, send the same again"
                    )
                )
                job.done.exception()  # read once: asyncio warns where nobody waits any more

    async def _reopen_forever(self, reopen: Callable[[], Awaitable[None]]) -> None:
        warned = -inf
        while self.closed is not None:
            await asyncio.sleep(REOPEN_SECONDS)
            await self._stop()
            self._fail_jobs()
            try:
                await self._leave()
                await reopen()
            except Exception as error:  # noqa: BLE001  (whatever it is, it is tried again)
                if monotonic() - warned >= REPEAT_WARNING_SECONDS:
                    warned = monotonic()
                    logger.warning("the log is still closed: %s", error)
            else:
                await self._let_followers_catch_up()
                self.closed = None
                logger.warning("the log is open again at %d", self.stamps.head())

    async def _end_stall(self) -> None:
        await self._let_followers_catch_up()
        if self._stalled:
            self._stalled, self.closed = False, None
            logger.warning("the log is open again: the disk answers")

    async def _let_followers_catch_up(self) -> None:
        """Wait a little for those that follow: what nobody was told of may have been written.

        A secret or a key that was changed so is in force before the next answer.
        """
        for _ in range(CATCH_UP_LOOKS):
            if all(follower.caught_up for follower in self.followers):
                break
            await asyncio.sleep(CATCH_UP_SECONDS / CATCH_UP_LOOKS)

    async def _leave(self) -> None:
        """Close a database that has failed, once nothing is in it that nobody else can read."""
        if self._left is not self._opened:
            where = await asyncio.to_thread(self.names.save_nameless, self._opened.writer)
            if where is not None:
                self.closed = where
                logger.error("the log is closed: %s", where)
            self._opened.abandon()
            self._left = self._opened

    async def _reopen(self) -> None:
        """Open the same database again, and go on with what is on disk."""
        await asyncio.to_thread(self.names.check_database)
        await self._open_again()
        for follower in self.followers:
            follower.fall_behind()

    async def _open_another(self) -> None:
        """Open the database that is in the place of the one before."""
        await self._open_again()
        self._end_followers("the log was replaced by a copy: read it again")

    async def _open_again(self) -> None:
        """Open what is in place now; if this is cancelled, not before its thread is done.

        A thread that goes on after the lock is released would write into another's journal.
        """
        opening = asyncio.create_task(asyncio.to_thread(self._open_connections_again))
        try:
            opened = await asyncio.shield(opening)
        except asyncio.CancelledError:
            with suppress(Exception):
                (await opening).abandon()
            raise
        try:
            self._use(opened)
        except BaseException:
            opened.abandon()
            raise
        self.stamps.settle_all()

    def _open_connections_again(self) -> Connections:
        opened = open_connections(self.path, relaxed=self._relaxed, vfs=self._vfs)
        try:
            self.stamps.advance(opened.stream.head)
            write_stream(opened.writer, opened.stream.at(self.stamps.mark()))
        except BaseException:
            opened.abandon()
            raise
        return opened

    async def _stop(self) -> None:
        """Stop the thread that writes, after what is queued."""
        await self._writer.stop()
        self.commits += self._writer.commits
        self.commit_seconds += self._writer.seconds
        self._writer.commits, self._writer.seconds = 0, 0.0

    @property
    def gauges(self) -> tuple[int, int, float]:
        """How many drafts are queued, how many commits there were, and how long they took."""
        writer = self._writer
        queued = sum(len(job.drafts) for job in self.jobs)
        return queued, self.commits + writer.commits, self.commit_seconds + writer.seconds

    def _end_followers(self, reason: str) -> None:
        for follower in self.followers:
            follower.end(reason)
