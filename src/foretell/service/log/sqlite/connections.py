"""The two connections to a database, opened after whatever happened to it.

What a crash left is made durable or refused, and nothing is destroyed.
"""

from __future__ import annotations

from typing import NamedTuple

import apsw

from foretell.errors import DamagedFile
from foretell.service.log.moving import refuse_moved
from foretell.service.log.sqlite.connection import abandon_connection, connect
from foretell.service.log.sqlite.driver_errors import damage_wrapped
from foretell.service.log.sqlite.lock import FileLock, refuse_used_file
from foretell.service.log.sqlite.names import Names, refuse_second_name, refuse_start_without
from foretell.service.log.sqlite.rows import read_settings, write_settings
from foretell.service.log.sqlite.stream import Stream, end_of_chain, read_stream, write_stream
from foretell.service.log.sqlite.wal import count_lost_transactions, rewrite_journal

NOTHING = "SELECT 1 FROM meta LIMIT 0"
"""Begins to read, and reads nothing."""


class Connections(NamedTuple):
    """The two connections to an open database, and where its log ends."""

    writer: apsw.Connection
    reader: apsw.Connection
    stream: Stream
    names: Names
    lock: FileLock

    def before_answer(self) -> None:
        """Look, after a commit, whether the database is as it was, and ready it for readers.

        The first to read after a commit notes in the shared index how far it reads, and on a disk
        that hangs it would wait there. So the thread that may wait is the first.
        """
        self.names.check_size()
        self.writer.execute(NOTHING)

    def close(self) -> None:
        """Close the database, and move its journal into it."""
        self.lock.release()
        self.reader.close()
        self.writer.close()

    def abandon(self) -> None:
        """Close a database that has failed."""
        self.lock.release()
        abandon_connection(self.reader)
        abandon_connection(self.writer)


@damage_wrapped()
def open_connections(path: str, *, relaxed: bool, vfs: str | None) -> Connections:
    """Open a database, making it where there is none, and sync what a crash left."""
    refuse_start_without(path)
    refuse_second_name(path)
    refuse_used_file(path)
    lost = count_lost_transactions(path)
    rewrite_journal(path, vfs)
    writer, lock = connect(path, write=True, vfs=vfs), None
    try:
        lock = FileLock(path)
        settings = read_settings(writer)
        refuse_moved(settings, repr(path))
        relaxed_before = settings.get("durability") == "relaxed"
        _refuse_lost_transactions(path, 0 if relaxed_before else lost)
        stream = read_stream(writer)
        if stream is not None:
            end_of_chain(writer, stream)  # the journal may be of another database, and stays then
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if stream is None:
            stream = Stream()
            write_stream(writer, stream)
        if relaxed != relaxed_before:
            write_settings(writer, durability="relaxed" if relaxed else "full")
            writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reader = connect(path, write=False, vfs=vfs)
    except BaseException:
        if lock is not None:
            lock.release()
        abandon_connection(writer)
        raise
    return Connections(writer, reader, stream, Names(path), lock)


def _refuse_lost_transactions(path: str, lost: int) -> None:
    if lost:
        raise DamagedFile(
            f"the journal of {path!r} is damaged, and {lost} transactions in it cannot be read: "
            f"restore a backup, or remove {path}-wal to go on without them"
        )
