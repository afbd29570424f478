"""The log in SQLite: records are appended, and made durable together."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import msgspec

from foretell.errors import DamagedFile
from foretell.service.log.record import NO_ROUND, personal_check, seal, stored_row
from foretell.service.log.sqlite.committer import Committer
from foretell.service.log.sqlite.connection import connect, let_go
from foretell.service.log.sqlite.reader import LogReader, Record
from foretell.service.log.sqlite.wal import RELAXED, forgotten, write_again
from foretell.service.model.errors import LogClosed
from foretell.service.model.events import AnyEvent, Decided


class Log(LogReader):
    """The records of one database, with one connection that writes and one that reads."""

    def __init__(
        self, path: str, *, vfs: str | None = None, relaxed: bool = False, check: bool = True
    ) -> None:
        """Open the database, making it where there is none; `check` syncs what a crash left."""
        self.path = path
        self.vfs = vfs
        lost = forgotten(path)
        if check:
            write_again(path, vfs)
        writer = connect(path, write=True, vfs=vfs)
        try:
            relaxed_before = writer.execute(RELAXED).get == "relaxed"
            _check(path, 0 if relaxed_before else lost)
            if check:
                writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if relaxed != relaxed_before:
                mode = "relaxed" if relaxed else "full"
                writer.execute("INSERT OR REPLACE INTO meta VALUES ('durability', ?)", (mode,))
                writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            super().__init__(connect(path, write=False, vfs=vfs))
            self.link = self.link_at(self.head)
            self.last_at = self._last_at()
        except BaseException:
            let_go(writer)
            raise
        self.committer = Committer(writer, relaxed=relaxed)
        self.committer.on_done = self.settled
        self.committer.committed = self.head

    def _last_at(self) -> int:
        """Check the last record, whatever its number says, and give its time."""
        last = self._read("true ORDER BY seq DESC LIMIT 1", (), None)
        return next(self.scan(last[0].seq - 1)).event.recorded_at if last else 0

    def append(
        self,
        campaign: int,
        event: AnyEvent,
        about: int = NO_ROUND,
        key: str | None = None,
        unit: bytes | None = None,
        context: bytes = b"",
    ) -> int:
        """Append a record and give its number; it is durable when `durable` is done.

        `unit` and `context` are kept beside the log, where they can be erased.
        """
        if self.committer.error is not None:
            raise LogClosed("the log cannot be written: nothing was taken in, try again")
        seq = self.head + 1
        row = stored_row(seq, campaign, about, key, event, self.link)
        self.head, self.link = seq, row.link
        self.last_at = event.recorded_at
        self.keep(Record(seq, campaign, event), about, key, unit)
        self.committer.add(row, strict=not isinstance(event, Decided))
        if unit is not None or context:
            check = personal_check(seq, campaign, unit, context)
            self.committer.also(
                "INSERT INTO personal VALUES (?, ?, ?, ?, ?)", (seq, campaign, unit, context, check)
            )
        return seq

    def durable(self) -> asyncio.Future[None]:
        """Return what is done when everything appended so far is on disk."""
        return self.committer.durable()

    def erase(self, campaign: int, unit: bytes) -> int:
        """Forget which decisions were a unit's, and their contexts; give how many they were."""
        (found,) = self._one(
            "SELECT count(*) FROM personal WHERE campaign = ? AND unit = ?", (campaign, unit)
        )
        self.committer.also(
            "DELETE FROM personal WHERE campaign = ? AND unit = ?", (campaign, unit)
        )
        self.committer.truncate = True
        return found

    def add_snapshot(self, campaign: int, seq: int, body: bytes) -> None:
        """Keep a snapshot, and drop the one before the last."""
        self.committer.also(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)",
            (campaign, seq, body, seal(campaign, seq, body)),
        )
        self.committer.also(
            "DELETE FROM snapshots WHERE campaign = ? AND seq NOT IN "
            "(SELECT seq FROM snapshots WHERE campaign = ? ORDER BY seq DESC LIMIT 2)",
            (campaign, campaign),
        )

    def keep_list(self, head: int, newest: dict[int, int]) -> None:
        """Keep which snapshots there are, so that none is taken for another."""
        packed = msgspec.msgpack.encode((head, newest))
        self.set_meta("snapshots", zlib.crc32(packed).to_bytes(4) + packed)

    def add_counts(self, campaign: int, name: str, by: int) -> None:
        """Count what leaves no record: duplicates and rejections."""
        self.committer.also(
            "INSERT INTO counters VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET count = count + excluded.count",
            (campaign, name, by),
        )

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a value beside the log."""
        self.committer.also("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    async def close(self) -> None:
        """Commit what is queued and let go of the database."""
        await self.committer.close()
        self.reader.close()
        self.committer.connection.close()

    def abandon(self) -> None:
        """Let go of a database that cannot be used; what is queued is not taken in."""
        self.committer.stop()
        let_go(self.reader)
        let_go(self.committer.connection)


def _check(path: str, lost: int) -> None:
    if lost:
        raise DamagedFile(
            f"the journal of {path!r} is damaged, and {lost} transactions in it cannot be read: "
            f"restore a backup, or remove {path}-wal to go on without them"
        )
