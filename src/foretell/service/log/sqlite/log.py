"""The log in SQLite: records are appended, and become durable in groups."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import msgspec

from foretell.errors import DamagedFile
from foretell.service.log.record import (
    NO_ROUND,
    Record,
    personal_checksum,
    snapshot_digest,
    stored_row,
)
from foretell.service.log.sqlite.committer import Committer
from foretell.service.log.sqlite.connection import abandon_connection, connect
from foretell.service.log.sqlite.reader import LogReader
from foretell.service.log.sqlite.wal import DURABILITY, count_lost_transactions, rewrite_journal
from foretell.service.model.errors import LogClosed
from foretell.service.model.events import AnyEvent, Decided


class SqliteLog(LogReader):
    """The records of one database, with one connection that writes and one that reads."""

    def __init__(
        self, path: str, *, vfs: str | None = None, relaxed: bool = False, check: bool = True
    ) -> None:
        """Open the database, making it where there is none; `check` syncs what a crash left."""
        self.path = path
        self.vfs = vfs
        lost = count_lost_transactions(path)
        if check:
            rewrite_journal(path, vfs)
        writer = connect(path, write=True, vfs=vfs)
        try:
            relaxed_before = writer.execute(DURABILITY).get == "relaxed"
            _refuse_lost_transactions(path, 0 if relaxed_before else lost)
            if check:
                writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if relaxed != relaxed_before:
                mode = "relaxed" if relaxed else "full"
                writer.execute("INSERT OR REPLACE INTO meta VALUES ('durability', ?)", (mode,))
                writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            super().__init__(connect(path, write=False, vfs=vfs))
            self.link = self.link_at(self.head)
            self.last_at = self._time_of_last_record()
        except BaseException:
            abandon_connection(writer)
            raise
        self.committer = Committer(writer, relaxed=relaxed)
        self.committer.on_done = self.uncommitted.drop_committed
        self.committer.committed = self.head

    def _time_of_last_record(self) -> int:
        """Check the last record, whatever its number says, and return its time."""
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
        """Append a record and return its number; it is durable when `durable` is done.

        `unit` and `context` are stored next to the log, where they can be erased.
        """
        if self.committer.error is not None:
            raise LogClosed("the log cannot be written: nothing was taken in, try again")
        seq = self.head + 1
        row = stored_row(seq, campaign, about, key, event, self.link)
        self.head, self.link = seq, row.link
        self.last_at = event.recorded_at
        self.uncommitted.add(Record(seq, campaign, event), about, key, unit)
        self.committer.add(row, strict=not isinstance(event, Decided))
        if unit is not None or context:
            check = personal_checksum(seq, campaign, unit, context)
            self.committer.add_statement(
                "INSERT INTO personal VALUES (?, ?, ?, ?, ?)", (seq, campaign, unit, context, check)
            )
        return seq

    def durable(self) -> asyncio.Future[None]:
        """Return a future that is done when everything appended so far is on disk."""
        return self.committer.durable()

    def erase(self, campaign: int, unit: bytes) -> int:
        """Forget which decisions belong to a unit, and their contexts; return their number."""
        (found,) = self._one(
            "SELECT count(*) FROM personal WHERE campaign = ? AND unit = ?", (campaign, unit)
        )
        self.committer.add_statement(
            "DELETE FROM personal WHERE campaign = ? AND unit = ?", (campaign, unit)
        )
        self.committer.truncate = True
        return found

    def add_snapshot(self, campaign: int, seq: int, body: bytes) -> None:
        """Keep a snapshot, and drop the one before the last."""
        self.committer.add_statement(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)",
            (campaign, seq, body, snapshot_digest(campaign, seq, body)),
        )
        self.committer.add_statement(
            "DELETE FROM snapshots WHERE campaign = ? AND seq NOT IN "
            "(SELECT seq FROM snapshots WHERE campaign = ? ORDER BY seq DESC LIMIT 2)",
            (campaign, campaign),
        )

    def set_snapshot_list(self, head: int, newest: dict[int, int]) -> None:
        """Store which snapshots there are, so that none is taken for another."""
        packed = msgspec.msgpack.encode((head, newest))
        self.set_meta("snapshots", zlib.crc32(packed).to_bytes(4) + packed)

    def add_counts(self, campaign: int, name: str, by: int) -> None:
        """Count what leaves no record: duplicates and rejections."""
        self.committer.add_statement(
            "INSERT INTO counters VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET count = count + excluded.count",
            (campaign, name, by),
        )

    def set_meta(self, name: str, value: Any) -> None:
        """Store a value next to the log."""
        self.committer.add_statement("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    async def close(self) -> None:
        """Commit what is queued, and close the database."""
        await self.committer.close()
        self.reader.close()
        self.committer.connection.close()

    def abandon(self) -> None:
        """Close a database that has failed; what is queued is not taken in."""
        self.committer.stop()
        abandon_connection(self.reader)
        abandon_connection(self.committer.connection)


def _refuse_lost_transactions(path: str, lost: int) -> None:
    if lost:
        raise DamagedFile(
            f"the journal of {path!r} is damaged, and {lost} transactions in it cannot be read: "
            f"restore a backup, or remove {path}-wal to go on without them"
        )
