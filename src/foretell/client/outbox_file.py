"""The file of an outbox: private, checked before it is used, and able to drain on a full disk."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PRIVATE = 0o600
"""The rights of an outbox: its owner reads and writes it, and nobody else."""
_APPLICATION_ID = 0x666F7265
_TABLES = f"""
CREATE TABLE IF NOT EXISTS waiting (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, put_at REAL NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS rejected (
    seq INTEGER PRIMARY KEY, rejected_at REAL NOT NULL, reason TEXT NOT NULL, body BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS spare (body BLOB NOT NULL);
PRAGMA application_id = {_APPLICATION_ID};
"""
_SPARE_JOURNAL = (
    "INSERT INTO spare VALUES (zeroblob(65536))",
    "UPDATE spare SET body = randomblob(65536); DELETE FROM spare",
)
"""These leave a journal next to the file that is large enough to remove events with: a new outbox
makes it while there is room, so that it drains even when the disk is full."""


@contextmanager
def committed(database: sqlite3.Connection) -> Iterator[None]:
    """Do all of something, or nothing of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def prepare(database: sqlite3.Connection, path: str | None) -> None:
    """Make the tables of a new outbox; raise where a file is none, or is damaged."""
    mark, tables = database.execute(
        "SELECT application_id, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id"
    ).fetchone()
    if mark != _APPLICATION_ID and (mark or tables):
        raise sqlite3.DatabaseError("it is a database of something else")
    if path is not None:
        _make_private(path)
    damage = database.execute("PRAGMA quick_check(1)").fetchone()[0]
    if damage != "ok":
        raise sqlite3.DatabaseError("it is damaged: " + " ".join(damage.split()))
    with suppress(sqlite3.OperationalError):  # another process has it open; any journal is safe
        database.execute(f"PRAGMA journal_mode = {journal_mode(sqlite3.sqlite_version_info)}")
    database.execute("PRAGMA synchronous = FULL")
    if mark == _APPLICATION_ID:
        return  # and nothing is written: it can be opened on a full disk
    for statements in (_TABLES, *_SPARE_JOURNAL):
        with committed(database):
            for statement in statements.split(";"):
                database.execute(statement)


def create_private(path: str) -> None:
    """Make a file that only its owner can read, where there is none.

    One that exists is not opened for this: to close it would drop the locks that this process has
    on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, PRIVATE))


def _make_private(path: str) -> None:
    """Let only the owner read an outbox, also one that others could: it names decisions.

    SQLite gives the files beside a database its rights, and leaves those that are there as they
    are.
    """
    from pathlib import Path  # it takes longer to import than most of the client

    for file in (Path(path + ending) for ending in ("", "-wal", "-shm", "-journal")):
        with suppress(FileNotFoundError):
            if stat.S_IMODE(file.stat().st_mode) != PRIVATE:
                file.chmod(PRIVATE)


def journal_mode(version: tuple[int, ...]) -> str:
    """Return the journal mode in which SQLite keeps its promise.

    A write-ahead log is quickest. Until 3.51.3 (3.50.7, 3.44.6) it could damage a file that two
    processes write to; there a journal next to the file does the same with one more sync.

    >>> [journal_mode(version) for version in ((3, 40, 1), (3, 50, 7), (3, 51, 2), (3, 52, 0))]
    ['PERSIST', 'WAL', 'PERSIST', 'WAL']
    """
    fixed = version >= (3, 51, 3) or any(
        version[:2] == since[:2] and version >= since for since in ((3, 50, 7), (3, 44, 6))
    )
    return "WAL" if fixed else "PERSIST"
