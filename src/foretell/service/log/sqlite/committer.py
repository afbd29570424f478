"""Group commit: one transaction for all records that queued while the last one was committed.

Records are inserted by the thread of the event loop, where they are made; only the commit, which
waits for the disk, runs in a thread of its own. While it runs, records queue; when it is done, all
of them go into the next transaction. Whoever waits, waits for a whole transaction. A single record
is committed in the event loop itself where the disk is quick: two changes of thread would take
longer than the disk.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import apsw

from foretell.service.log.sqlite.connection import BUSY_MILLISECONDS
from foretell.service.model.errors import LogClosed

QUICK_COMMIT_SECONDS = 0.003
"""If the last commit took less, a single record is committed without the thread."""
Statement = tuple[str, tuple[Any, ...]]
ROWS_PER_INSERT = 32
CHECKPOINT_PAGES = 1000
"""Pages of the journal from which on they are moved to the database."""
_VALUES = "(?, ?, ?, ?, ?, ?, ?)"


class Commit(asyncio.Future[None]):
    """A commit that many wait for: none of them can cancel it for the others."""

    def cancel(self, msg: object = None) -> bool:  # noqa: ARG002  (a future's signature)
        """Refuse: a waiter that is cancelled is notified when the commit is done."""
        return False


class Committer:
    """The owner of the one connection that writes."""

    def __init__(self, connection: apsw.Connection, *, relaxed: bool) -> None:
        """Commit on `connection`; with `relaxed`, decisions do not wait for the disk."""
        self.connection = connection
        self.relaxed = relaxed
        self.checkpoint_pages = CHECKPOINT_PAGES
        self.truncate = False
        """Whether the journal, which holds what was erased, is emptied after the next commit."""
        self._truncating = False
        self._written = 0
        connection.set_wal_hook(self._note_pages)
        self.error: Exception | None = None
        self.committed = 0
        self.commits = 0
        self.seconds = 0.0
        self.on_done: Callable[[int], None] = lambda _: None
        self.on_fail: Callable[[Exception], None] = lambda _: None
        self._loop = asyncio.get_running_loop()
        self._rows: list[tuple[Any, ...]] = []
        self._statements: list[Statement] = []
        self._strict = False
        self._last = 0
        self._next = Commit(loop=self._loop)
        self._running: Commit | None = None
        self._scheduled = False
        self._synchronous = "full"
        self._took = 0.0
        self._work: SimpleQueue[str] = SimpleQueue()
        self._thread = threading.Thread(target=self._commit_forever, name="commit", daemon=True)
        self._thread.start()

    def add(self, row: tuple[Any, ...], *, strict: bool) -> None:
        """Queue a record; `strict` ones wait for the disk even where decisions do not."""
        self._rows.append(row)
        self._last = row[0]
        self._strict |= strict
        self._schedule()

    def add_statement(self, sql: str, bindings: tuple[Any, ...]) -> None:
        """Queue another statement for the same transaction."""
        self._statements.append((sql, bindings))
        self._schedule()

    @property
    def queued(self) -> int:
        """How many records wait for the next transaction."""
        return len(self._rows)

    def durable(self) -> asyncio.Future[None]:
        """Return a future that is done when all that is queued is durable, or fails."""
        if self._rows or self._statements:
            return self._next
        if self._running is not None:
            return self._running
        done: asyncio.Future[None] = self._loop.create_future()
        if self.error is None:
            done.set_result(None)
        else:  # what was appended before the failure, and not awaited yet, was not taken in
            done.set_exception(_closed(self.error))
        return done

    def _schedule(self) -> None:
        if not self._scheduled and self._running is None:
            self._scheduled = True
            self._loop.call_soon(self._start)

    def _start(self) -> None:
        """Put everything queued into a transaction, and commit it."""
        self._scheduled = False
        if self._running is not None or not (self._rows or self._statements):
            return
        rows, statements, self._running = self._rows, self._statements, self._next
        strict, last = self._strict or not self.relaxed, self._last
        self._rows, self._statements, self._strict = [], [], False
        self._truncating, self.truncate = self._truncating or self.truncate, False
        self._next = Commit(loop=self._loop)
        try:
            self._insert(rows, statements, strict=strict)
        except Exception as error:  # noqa: BLE001  (whatever it is, nobody may wait forever)
            self._done(last, error)
            return
        self._committing = last
        single = len(rows) == 1 and not self._truncating
        if single and self._took < QUICK_COMMIT_SECONDS and self._written < self.checkpoint_pages:
            self._done(last, self._commit())
        else:
            self._work.put("commit")

    def _insert(
        self, rows: list[tuple[Any, ...]], statements: list[Statement], *, strict: bool
    ) -> None:
        execute = self.connection.execute
        wanted = "full" if strict else "normal"
        if wanted != self._synchronous:
            self.connection.pragma("synchronous", wanted)
            self._synchronous = wanted
        execute("BEGIN IMMEDIATE")
        for start in range(0, len(rows), ROWS_PER_INSERT):
            some = rows[start : start + ROWS_PER_INSERT]
            values = [value for row in some for value in row]
            execute("INSERT INTO events VALUES " + ", ".join([_VALUES] * len(some)), values)
        for sql, bindings in statements:
            execute(sql, bindings)

    def _commit_forever(self) -> None:
        while self._work.get() == "commit":
            error = self._commit()
            if error is None and (self._truncating or self._written >= self.checkpoint_pages):
                error = self._checkpoint()
            try:
                self._loop.call_soon_threadsafe(self._done, self._committing, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return

    def _commit(self) -> Exception | None:
        """Wait for the disk; return the error if nothing was committed."""
        error: Exception | None = None
        began = perf_counter()
        try:
            self.connection.execute("COMMIT")
        except Exception as caught:  # noqa: BLE001  (whatever it is)
            error = caught
        self._took = perf_counter() - began
        self.seconds += self._took
        return error

    def _note_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._written = pages
        return apsw.SQLITE_OK

    def _checkpoint(self) -> Exception | None:
        """Move the journal to the database; SQLite's own checkpoint would hide a failed sync.

        After a failed sync, what the journal holds may not be on disk. Where there is no room, or
        others read, the journal grows on.
        """
        try:
            if self._truncating:
                self._empty_journal()
            else:
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except (apsw.BusyError, apsw.LockedError, apsw.FullError):
            return None
        except apsw.Error as error:
            return error
        return None

    def _empty_journal(self) -> None:
        """Leave nothing in the journal; while others read, try again at the next commit."""
        self.connection.set_busy_timeout(0)
        try:
            self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            self._truncating = False
        finally:
            self.connection.set_busy_timeout(BUSY_MILLISECONDS)

    def _done(self, last: int, error: Exception | None) -> None:
        future, self._running = self._running, None
        if future is None:
            return
        if error is not None:
            self._fail(future, error)
            return
        self.commits += 1
        self.committed = max(self.committed, last)
        self.on_done(self.committed)
        future.set_result(None)
        if self._rows or self._statements:
            self._start()

    def _fail(self, future: Commit, error: Exception) -> None:
        """Fail everything that is queued: none of it was taken in."""
        self.error = error
        closed = _closed(error)
        self._rows, self._statements = [], []
        for waiting in (future, self._next):
            if not waiting.done():
                waiting.set_exception(closed)
                waiting.exception()  # read once, so that asyncio does not warn where nobody waits
        self._next = Commit(loop=self._loop)
        self.stop()
        self.on_fail(error)

    def stop(self) -> None:
        """Let the thread end after its current commit."""
        self._work.put("stop")

    async def idle(self) -> None:
        """Wait until nothing is queued or being committed."""
        while self.error is None and (self._running or self._rows or self._statements):
            await asyncio.wait([self.durable()])

    async def close(self) -> None:
        """Commit what is queued, and stop."""
        await self.idle()
        self.stop()
        await asyncio.to_thread(self._thread.join)


def _closed(error: Exception) -> LogClosed:
    return LogClosed(f"the log cannot be written ({error}): nothing was taken in, try again")
