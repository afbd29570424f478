"""A database file as one side of a log that moves."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import apsw

from foretell.errors import InvalidInput
from foretell.service.log.moving import (
    COPY_IDENTITY,
    COPY_OF,
    MOVED_TO,
    ROWS_PER_PAGE,
    MovedTable,
    Row,
)
from foretell.service.log.protocol import LogCheck
from foretell.service.log.record import row_checksum
from foretell.service.log.sqlite.appender import RANK_EVERY
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.connection import MOVED_FORMAT, connect
from foretell.service.log.sqlite.connections import open_connections
from foretell.service.log.sqlite.copied_streams import (
    read_copied_streams,
    read_hosts,
    write_copied_streams,
)
from foretell.service.log.sqlite.lock import FileLock, Lock, refuse_used_file
from foretell.service.log.sqlite.rows import insert, read_settings, write_settings
from foretell.service.log.sqlite.stream import Stream, read_stream, write_stream
from foretell.service.log.stamps import SLOT
from foretell.service.log.stream_row import StreamRow

_CHECKED = {"counters", "key_uses"}
"""Tables whose rows have a checksum that is not part of the log."""


class _File:
    """What both sides have."""

    def __init__(self, path: str) -> None:
        """Name the database."""
        self.path = path
        self.place = str(Path(path).absolute())
        self._connection: apsw.Connection
        self._lock: Lock | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        if self._lock is not None:
            self._lock.release()

    def settings(self) -> dict[str, Any]:
        """Return the settings."""
        return read_settings(self._connection)

    def page(self, table: MovedTable, after: Row | None, upto: Row | None) -> list[Row]:
        """Return rows by their keys, in order."""
        key = ", ".join(table.key)
        marks = ", ".join("?" * len(table.key))
        bounds = [f"({key}) > ({marks})"] * (after is not None)
        bounds += [f"({key}) <= ({marks})"] * (upto is not None)
        return list(
            self._connection.execute(
                f"SELECT {', '.join(table.columns)} FROM {table.name} "
                f"WHERE {' AND '.join(bounds) or 'true'} ORDER BY {key} LIMIT ?",
                (*(after or ()), *(upto or ()), ROWS_PER_PAGE if upto is None else -1),
            )
        )

    def streams(self) -> list[tuple[StreamRow, str]]:
        """Return all streams as sealed ones, each with the host that wrote it."""
        hosts = read_hosts(self._connection)
        return list(zip(read_copied_streams(self._connection), hosts, strict=True))

    def check(self) -> LogCheck:
        """Check all that is stored."""
        return check_database(self.path)


class FileSource(_File):
    """A database file from which a log moves."""

    def __init__(self, path: str) -> None:
        """Read a database, which a server may be writing."""
        super().__init__(path)
        self._connection = connect(path, write=False)
        self._file_lock: FileLock | None = None

    def freeze(self) -> str | None:
        """Let nobody write until this ends; return why that cannot be, if somebody writes now."""
        lock = None
        try:
            lock = Lock(self.path)
            refuse_used_file(self.path)
        except InvalidInput as error:
            if lock is not None:
                lock.undo()
            return str(error).partition(":")[0]
        self._lock = lock
        self._connection.close()
        opened = open_connections(self.path, relaxed=False, vfs=None)
        self._connection, self._file_lock = opened.writer, opened.lock
        opened.reader.close()
        return None

    def __exit__(self, *details: object) -> None:
        if self._file_lock is not None:
            self._file_lock.release()
        super().__exit__(*details)

    def seal(self, target: str) -> None:
        """Let nobody write ever again, and keep where the log went."""
        connection = self._connection
        stream = read_stream(connection) or Stream()
        with connection:
            write_stream(connection, stream._replace(sealed=1))
            write_settings(connection, log_format=MOVED_FORMAT, **{MOVED_TO: target})
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def streams(self) -> list[tuple[StreamRow, str]]:
        """Return all streams as sealed ones, the own one last."""
        own = read_stream(self._connection) or Stream()
        last, records = self._connection.execute(
            "SELECT ifnull(max(seq), 0), count(*) FROM events WHERE seq >= ?", (own.first,)
        ).get
        row = StreamRow(
            *(own.number, SLOT, own.head, own.first, last, records),
            own.link,
            own.claims,
            sealed=True,
        )
        return [*super().streams(), (row, "")]


class FileTarget(_File):
    """A database file to which a log moves."""

    def __init__(self, path: str) -> None:
        """Take a database that nobody uses, making it where there is none."""
        super().__init__(path)
        lock = Lock(path)
        try:
            refuse_used_file(path)
            self._connection = connect(path, write=True)
        except BaseException:
            lock.undo()
            raise
        self._lock = lock

    def begin(self, settings: dict[str, Any]) -> None:
        """Keep settings: from now on it holds an unfinished copy."""
        write_settings(self._connection, log_format=MOVED_FORMAT, **settings)

    def copied(self) -> tuple[int, int]:
        """Return how many records were copied, and the seq of the last one, 0 before the first."""
        return self._connection.execute("SELECT count(*), ifnull(max(seq), 0) FROM events").get

    def change(self, table: MovedTable, add: list[Row], remove: list[Row]) -> None:
        """Remove rows and add others, all or nothing."""
        if table.name in _CHECKED:
            add = [(*row, row_checksum(*row)) for row in add]
        matches = " AND ".join(f"{name} = ?" for name in table.key)
        with self._connection:
            self._connection.executemany(
                f"DELETE FROM {table.name} WHERE {matches}", [table.key_of(row) for row in remove]
            )
            insert(self._connection, table.name, add)

    def complete(self, streams: list[tuple[StreamRow, str]]) -> None:
        """Store the streams, open one above all of them, and count the ranks."""
        connection = self._connection
        head = max(stream.head for stream, _ in streams)
        with connection:
            write_copied_streams(connection, streams)
            connection.execute("DELETE FROM streams")
            write_stream(connection, Stream(head, number=len(streams) + 1, first=head))
            connection.execute("DELETE FROM ranks")
            connection.execute(
                "INSERT INTO ranks SELECT campaign, seq, rank FROM (SELECT campaign, seq, "
                "row_number() OVER (PARTITION BY campaign ORDER BY seq) - 1 AS rank FROM events "
                f"WHERE decision IS NULL) WHERE rank % {RANK_EVERY} = 0"
            )

    def open_up(self) -> None:
        """Let it be served."""
        self._connection.execute("DELETE FROM meta WHERE name IN (?, ?)", (COPY_OF, COPY_IDENTITY))
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
