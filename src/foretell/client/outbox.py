"""The outbox: feedback on disk until the service has it.

A SQLite file, so that a process may be killed at any moment and several processes may share one
file; without a path, the same in memory, which ends with the process. What `put` returned from
is on disk; a row leaves only when the service has answered for it. Rows are numbered for ever:
no number is used twice, so removing a row that another process has sent too removes no other.

A client sends its own rows as they come. It sends rows of others up to a number that it is told
(when it starts, and at a flush), or once they are so old that nobody else will.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from foretell.client.errors import OutboxUnusable
from foretell.client.outbox_file import committed, create_private, prepare

ORPHANED_SECONDS = 30.0
"""Seconds after which any process may send a row."""

BUSY_SECONDS = 10.0
"""Seconds for which a file is waited for that others write to."""
_opening = threading.Lock()
"""Held while a file is made and opened: closing a new file drops locks on it."""


class WaitingEvent(NamedTuple):
    """An event that waits, and its number in the queue."""

    seq: int
    body: bytes


class RejectedEvent(NamedTuple):
    """An event (JSON, as it was sent) that the service will never take, and why.

    `at` is the time of its answer, in UTC.
    """

    event: str
    reason: str
    at: datetime
    seq: int
    """Its number in the outbox."""


class Outbox:
    """A queue of events, usable from any thread of the process that opened it."""

    def __init__(self, path: str | None) -> None:
        """Open the file, or make it; None: keep the events in memory."""
        self._path = path
        self._owner = os.urandom(8).hex()
        self._lock = threading.Lock()
        with _opening, self._usable("opened", "name another file, or move this one away"):
            if path is not None:
                create_private(path)
            self._database = sqlite3.connect(
                path or ":memory:",
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        try:
            with self._usable("opened", "name another file, or move this one away"):
                prepare(self._database, path)
        except OutboxUnusable:
            self._database.close()
            raise

    def put(self, body: bytes, timeout: float = BUSY_SECONDS) -> None:
        """Keep an event: it is on disk when this returns, or an error is raised.

        While others write to the file, it is waited for so many seconds at most.
        """
        with (
            self._usable("written", "this event was not kept"),
            self._locked(timeout),
            committed(self._database),
        ):
            self._database.execute(
                "INSERT INTO waiting (owner, put_at, body) VALUES (?, ?, ?)",
                (self._owner, time.time(), body),
            )

    def take(self, count: int, up_to: int) -> list[WaitingEvent]:
        """Return the oldest events that are ours to send; they stay until they are settled."""
        return [
            WaitingEvent(*row)
            for row in self._rows(
                "SELECT seq, body FROM waiting WHERE owner = ? OR seq <= ? OR put_at < ? "
                "ORDER BY seq LIMIT ?",
                (self._owner, up_to, time.time() - ORPHANED_SECONDS, count),
            )
        ]

    def settle(self, done: Sequence[int], rejected: Sequence[tuple[int, str]]) -> None:
        """Remove what the service has; set aside what it will never take, with the reason."""
        reasons = {**dict.fromkeys(done), **dict(rejected)}
        with self._lock, self._usable("written", "what was sent is sent again"):
            self._remove(sorted(reasons), reasons)

    def count(self) -> int:
        """Return how many events wait, of all who share the file."""
        return int(self._rows("SELECT count(*) FROM waiting")[0][0])

    def head(self) -> int:
        """Return the number of the latest event that waits; 0: none does."""
        return int(self._rows("SELECT coalesce(max(seq), 0) FROM waiting")[0][0])

    def empty(self, up_to: int) -> bool:
        """Return whether no event up to this number waits any more."""
        return not self._rows("SELECT 1 FROM waiting WHERE seq <= ? LIMIT 1", (up_to,))

    def oldest(self) -> float | None:
        """Return when the oldest event that waits was put here; None: none waits."""
        oldest: float | None = self._rows("SELECT min(put_at) FROM waiting")[0][0]
        return oldest

    def rejected(self) -> list[RejectedEvent]:
        """Return what the service will not take, oldest first."""
        rows = self._rows("SELECT body, reason, rejected_at, seq FROM rejected ORDER BY seq")
        return [
            RejectedEvent(
                body.decode(errors="replace"), reason, datetime.fromtimestamp(at, UTC), seq
            )
            for body, reason, at, seq in rows
        ]

    def count_rejected(self) -> int:
        """Return how many events the service will not take."""
        return int(self._rows("SELECT count(*) FROM rejected")[0][0])

    def requeue(self, seqs: Sequence[int] | None) -> int:
        """Let rejected events wait again, under new numbers; None: all. Return how many."""
        with self._lock, self._usable("written", "they stay rejected"), committed(self._database):
            if seqs is None:
                rows = self._database.execute("SELECT seq FROM rejected ORDER BY seq").fetchall()
                seqs = [seq for (seq,) in rows]
            moved = 0
            for seq in sorted(set(seqs)):
                moved += self._database.execute(
                    "INSERT INTO waiting (owner, put_at, body) "
                    "SELECT ?, ?, body FROM rejected WHERE seq = ?",
                    (self._owner, time.time(), seq),
                ).rowcount
                self._database.execute("DELETE FROM rejected WHERE seq = ?", (seq,))
            return moved

    def what_remains(self) -> str:
        """Return, in words, what happens to waiting events when the process ends."""
        count = self.count()
        one = count == 1
        fate = f"{'is' if one else 'are'} lost, as there is no outbox file"
        if self._path is not None:
            fate = f"{'stays' if one else 'stay'} in the outbox"
        return f"{count} {'event' if one else 'events'} {fate}"

    def close(self) -> None:
        """Close the file; what waits stays in it."""
        with self._lock:
            self._database.close()

    def _remove(self, seqs: Sequence[int], reasons: Mapping[int, str | None]) -> None:
        """Remove rows at once, or in parts: the journal of a part may fit where a disk is full."""
        now = time.time()
        refused = [(now, reasons[seq], seq) for seq in seqs if reasons[seq] is not None]
        try:
            with committed(self._database):
                self._database.executemany(
                    "INSERT OR IGNORE INTO rejected "
                    "SELECT seq, ?, ?, body FROM waiting WHERE seq = ?",
                    refused,
                )
                self._database.executemany(
                    "DELETE FROM waiting WHERE seq = ?", [(n,) for n in seqs]
                )
        except sqlite3.OperationalError as error:
            if len(seqs) <= 1 or error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise
            half = len(seqs) // 2
            self._remove(seqs[:half], reasons)
            self._remove(seqs[half:], reasons)

    @contextmanager
    def _locked(self, timeout: float) -> Iterator[None]:
        """Wait so long for the file, first in this process and then for other processes."""
        end = time.monotonic() + timeout
        if not self._lock.acquire(timeout=timeout):
            raise sqlite3.OperationalError("it is busy")
        try:
            left = max(0.0, end - time.monotonic())
            self._database.execute(f"PRAGMA busy_timeout = {round(1000 * left)}")
            try:
                yield
            finally:
                self._database.execute(f"PRAGMA busy_timeout = {round(1000 * BUSY_SECONDS)}")
        finally:
            self._lock.release()

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock, self._usable("read", "name another file, or move this one away"):
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _usable(self, what: str, advice: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:
            raise OutboxUnusable(
                f"the outbox {self._path or 'in memory'} cannot be {what}: {error}: {advice}"
            ) from error
