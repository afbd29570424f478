"""The writer: whatever has queued goes into one statement, which is durable or was never there.

While a statement is under way, the next drafts queue; when it is done, all of them go into the next
one. Without drafts, the head of the stream follows the time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from foretell.errors import ForetellError
from foretell.service.log.errors import LogClosed, said_outside
from foretell.service.log.postgres.connection import PASSING, plain_reason, said
from foretell.service.log.postgres.own_stream import OwnStream, Sealed
from foretell.service.log.postgres.settings import StreamTiming
from foretell.service.log.protocol import Draft

logger = logging.getLogger("foretell.service")

RETRY_SECONDS = 0.25
"""Seconds between two attempts to reach the server."""
DRAFTS_PER_GROUP = 2000
Work = Callable[[OwnStream], Awaitable[Any]]
"""Something else that is done on the connection that writes."""


class WriteJob:
    """Something to be written, and the future that is done when it is durable."""

    __slots__ = ("done", "drafts", "work")

    def __init__(
        self, done: asyncio.Future[Any], drafts: Sequence[Draft], work: Work | None
    ) -> None:
        """Append drafts, or do other work on the connection that writes."""
        self.done = done
        self.drafts = drafts
        self.work = work


class StreamWriter:
    """Writes the stream of this process, in a task of its own."""

    def __init__(self, own: OwnStream, timing: StreamTiming) -> None:
        """Write a stream that is open, once `start` was called."""
        self.own = own
        self.closed: str | None = None
        """Why nothing can be written now."""
        self.commits, self.commit_seconds = 0, 0.0
        self.on_reopened: Callable[[int], Awaitable[None]]
        self.append_jobs: Callable[[list[WriteJob]], Awaitable[None]]
        self._timing = timing
        self._lost = 0.0
        self._reads_on = True
        """Whether all that others write is still read: always, but while the database is away."""
        self._jobs: list[WriteJob] = []
        self._queue: list[WriteJob] = []
        self._wake = asyncio.Event()
        self._beat_wanted = False
        self._stopping = False
        self._opening: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._run())

    def submit(self, drafts: Sequence[Draft] = (), work: Work | None = None) -> asyncio.Future[Any]:
        """Queue drafts, or other work; the future is done when it is durable."""
        if self.closed is not None:
            raise LogClosed(
                f"the log cannot be written ({self.closed}): nothing was taken in, try again"
            )
        job = WriteJob(asyncio.get_running_loop().create_future(), drafts, work)
        self._queue.append(job)
        self._wake.set()
        return job.done

    @property
    def up_to_date_since(self) -> float:
        """When the last statement was sent after which nothing was missed that others wrote."""
        return self.own.contact if self._reads_on else self._lost

    @property
    def queued(self) -> int:
        """How many drafts wait to be written."""
        return sum(len(job.drafts) for job in [*self._jobs, *self._queue])

    def beat_soon(self) -> None:
        """Let the head follow the time at once."""
        self._beat_wanted = True
        self._wake.set()

    async def close(self, head: int) -> None:
        """Write what is queued, seal the stream with a head at least that high, and stop."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        await self._end()
        await self.own.close(head)

    async def abandon(self) -> None:
        """Stop as a crash does: the stream stays open, and nobody is told."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._end()
        self.own.drop_connection()

    async def _end(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        self.closed = "the log is closed"
        self._fail_jobs()

    async def _run(self) -> None:
        while not self._stopping or self._queue:
            await self._wait()
            try:
                await self._step()
            except Sealed:
                self._lose("this server was out of contact, and reads the log again")
                self._lost = 0.0
            except (ForetellError, *PASSING) as error:
                await self._lose_contact(error)
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
        if self.own.connection is None:
            await self.own.reconnect()
            if self.closed is not None:
                self._serve_again()
        self._jobs = self._take()
        if not self._jobs:
            self._beat_wanted = False
            await self.own.move_head(self.own.stamps.now())
            self._heed_clock()
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

    def _take(self) -> list[WriteJob]:
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

    async def _do(self, job: WriteJob, work: Work) -> None:
        try:
            result = await work(self.own)
        except LogClosed:
            raise
        except ForetellError as error:
            job.done.set_exception(error)
        else:
            if not job.done.done():
                job.done.set_result(result)

    def _heed_clock(self) -> None:
        """Stand back while the clock of this machine is wrong."""
        wrong = self.own.clock.wrong
        if wrong is not None and self.closed is None:
            self._fail(wrong)
        elif wrong is None and self.closed is not None and self._opening is None:
            self._serve_again()

    async def _lose_contact(self, error: BaseException) -> None:
        if isinstance(error, ForetellError):
            self._lose(said_outside(error), said(error))
        else:
            plain = plain_reason(error)
            self._lose(plain, f"{plain} ({said(error)})")
        await asyncio.sleep(RETRY_SECONDS)

    def _lose(self, reason: str, details: str = "") -> None:
        """Refuse everything, and read nothing that others write, until there is contact again."""
        if self._reads_on:
            self._lost, self._reads_on = self.own.contact, False
        self._fail(reason, details)
        self.own.drop_connection()

    def _fail(self, reason: str, details: str = "") -> None:
        """Refuse everything until the log can be written again; details are for its operator."""
        if self.closed is None:
            logger.error("the log is closed: %s", details or reason)
        self.closed = reason
        self.own.stamps.settle_all()
        if self._opening is not None:
            self._opening.cancel()
            self._opening = None
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

    def _serve_again(self) -> None:
        self._opening = asyncio.create_task(self._open_when_read())

    async def _open_when_read(self) -> None:
        """Serve again, once all that was written meanwhile has been read."""
        head = self.own.row.head
        await self.on_reopened(head)
        self.closed, self._opening, self._reads_on = None, None, True
        logger.warning("the log is open again at %d", head)
