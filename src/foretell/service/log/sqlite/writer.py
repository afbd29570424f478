"""The writer: one thread puts whatever has queued into one transaction, and waits for the disk.

While a transaction is committed, the next drafts queue; when it is done, all of them go into the
next one. The event loop never waits for the disk, and hears of a whole group in one call.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import apsw

from foretell.service.log.protocol import Draft
from foretell.service.log.sqlite.appender import Appender
from foretell.service.log.sqlite.connection import BUSY_MILLISECONDS
from foretell.service.model.events import Decided

CHECKPOINT_PAGES = 1000
"""Pages of the journal from which on they are moved to the database."""


class Job:
    """Something to be written, and the future that is done when it is durable."""

    __slots__ = ("done", "drafts", "result", "truncate", "work")

    def __init__(
        self,
        done: asyncio.Future[Any],
        drafts: Sequence[Draft] = (),
        work: Callable[[Appender], Any] | None = None,
        *,
        truncate: bool = False,
    ) -> None:
        """Append drafts, or do other work in a transaction; `truncate` empties the journal."""
        self.done = done
        self.drafts = drafts
        self.work = work
        self.truncate = truncate
        self.result: Any = None

    @property
    def strict(self) -> bool:
        """Whether it waits for the disk even where decisions do not."""
        return self.work is not None or not all(
            isinstance(draft.event, Decided) for draft in self.drafts
        )


class Writer:
    """The thread that owns the connection that writes."""

    def __init__(
        self,
        appender: Appender,
        *,
        relaxed: bool,
        before_answer: Callable[[], None],
        after_checkpoint: Callable[[], None],
        on_done: Callable[[list[Job]], None],
        on_fail: Callable[[Exception], None],
    ) -> None:
        """Write what an appender makes; `on_done` and `on_fail` are called in the event loop."""
        self.checkpoint_pages = CHECKPOINT_PAGES
        self.commits = 0
        self.seconds = 0.0
        self._appender = appender
        self._connection = appender.connection
        self._connection.set_wal_hook(self._note_pages)
        self._relaxed = relaxed
        self._before_answer = before_answer
        self._after_checkpoint = after_checkpoint
        self._on_done = on_done
        self._on_fail = on_fail
        self._synchronous = "full"
        self._pages = 0
        self._truncate = False
        """Whether the journal, which holds what was erased, must be emptied."""
        self._loop = asyncio.get_running_loop()
        self._queued: list[Job] = []
        """What this turn of the event loop has queued, and the thread does not have yet."""
        self._queue: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write_forever, name="log", daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        """Queue a job for the next transaction: the thread gets all jobs of a turn at once."""
        if not self._queued:
            self._loop.call_soon(self._hand_over)
        self._queued.append(job)

    async def stop(self) -> None:
        """Let the thread end after what is queued, and wait for it."""
        self._hand_over()
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self) -> None:
        if self._queued:
            jobs, self._queued = self._queued, []
            self._queue.put(jobs)

    def _write_forever(self) -> None:
        stopping = False
        try:
            while not stopping:
                jobs, stopping = self._take()
                if jobs:
                    self._write(jobs)
        except Exception as error:  # noqa: BLE001  (whatever it is, nobody may wait forever)
            self._call_loop(self._on_fail, error)

    def _take(self) -> tuple[list[Job], bool]:
        """Wait for jobs, and take all that are there by then; also return whether to end."""
        taken: list[Job] = []
        while (jobs := self._queue.get()) is not None:
            taken += jobs
            if self._queue.empty():
                return taken, False
        return taken, True

    def _write(self, jobs: list[Job]) -> None:
        self._wait_for_disk(not self._relaxed or any(job.strict for job in jobs))
        self._connection.execute("BEGIN IMMEDIATE")
        appends = [job for job in jobs if job.work is None]
        written = self._appender.append([job.drafts for job in appends])
        for job, result in zip(appends, written, strict=True):
            job.result = result
        for job in jobs:
            if job.work is not None:
                job.result = job.work(self._appender)
        self._appender.finish()
        began = perf_counter()
        self._connection.execute("COMMIT")
        self._before_answer()
        self.seconds += perf_counter() - began
        self.commits += 1
        self._truncate |= any(job.truncate for job in jobs)
        if self._truncate:
            self._checkpoint()
        self._call_loop(self._on_done, jobs)
        if self._pages >= self.checkpoint_pages:
            self._checkpoint()

    def _wait_for_disk(self, strict: bool) -> None:  # noqa: FBT001  (named by what it sets)
        wanted = "full" if strict else "normal"
        if wanted != self._synchronous:
            self._connection.pragma("synchronous", wanted)
            self._synchronous = wanted

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        return apsw.SQLITE_OK

    def _checkpoint(self) -> None:
        """Move the journal to the database; SQLite's own checkpoint would hide a failed sync.

        After a failed sync, what the journal holds may not be on disk, and the log closes. Where
        there is no room, or others read, the journal grows on.
        """
        mode = apsw.SQLITE_CHECKPOINT_TRUNCATE if self._truncate else apsw.SQLITE_CHECKPOINT_PASSIVE
        self._connection.set_busy_timeout(0)
        try:
            self._connection.wal_checkpoint(mode=mode)
            self._truncate = False
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            pass
        finally:
            self._connection.set_busy_timeout(BUSY_MILLISECONDS)
            self._after_checkpoint()

    def _call_loop(self, function: Callable[[Any], None], argument: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, argument)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._queue.put(None)
