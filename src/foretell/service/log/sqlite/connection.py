"""The database: its tables, how a connection to it is opened, and the errors of its driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.service.model.errors import Damaged, RequestProblem

DATABASE_FORMAT = 2
BUSY_MILLISECONDS = 5000
"""How long a connection waits while another one holds the lock."""
OLDEST_SQLITE = 3_051_003
"""Older versions may lose a log that two connections checkpoint."""

TABLES = """
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL,
  round INTEGER NOT NULL,
  key TEXT,
  body BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  link BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS events_about ON events (campaign, round);
CREATE UNIQUE INDEX IF NOT EXISTS events_key ON events (campaign, key) WHERE key IS NOT NULL;
CREATE TABLE IF NOT EXISTS personal (
  seq INTEGER PRIMARY KEY,
  campaign INTEGER NOT NULL,
  unit BLOB,
  context BLOB,
  checksum INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS personal_unit ON personal (campaign, unit) WHERE unit IS NOT NULL;
CREATE TABLE IF NOT EXISTS snapshots (
  campaign INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  body BLOB NOT NULL,
  digest BLOB NOT NULL,
  PRIMARY KEY (campaign, seq)
) STRICT;
CREATE TABLE IF NOT EXISTS counters (
  campaign INTEGER NOT NULL,
  name TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (campaign, name)
) STRICT;
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT;
"""


def connect(path: str, *, write: bool, vfs: str | None = None) -> apsw.Connection:
    """Open the database; the one connection that writes also makes the tables that are missing."""
    if apsw.SQLITE_VERSION_NUMBER < OLDEST_SQLITE:
        raise ForetellError(
            f"SQLite {apsw.sqlite_lib_version()} can lose a log in WAL mode: install apsw 3.51.3+"
        )
    if not write and not Path(path).exists():
        raise InvalidInput(f"there is no database {path!r}: check its name")
    flags = (
        apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if write else apsw.SQLITE_OPEN_READONLY
    )
    connection = None
    try:
        if write and vfs is None:
            _make_private_file(path)
        connection = apsw.Connection(path, flags=flags, vfs=vfs)
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.pragma("cache_size", -8192)
        connection.pragma("mmap_size", 0)
        connection.pragma("temp_store", "memory")  # a full /tmp must not close the log
        if write:
            _refuse_other_databases(connection, path)
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "full")
            connection.pragma("secure_delete", "on")
            _prepare(connection)
        else:
            connection.pragma("query_only", "on")
        _check_format(connection, path)
    except BaseException as error:
        if connection is not None:
            abandon_connection(connection)
        reason = _explained(error, path, write=write)
        if reason is None:
            raise
        raise reason from None
    return connection


def _explained(error: BaseException, path: str, *, write: bool) -> ForetellError | None:
    """Return an error that says why a database cannot be opened; None where it is not known."""
    if isinstance(error, (apsw.NotADBError, apsw.CorruptError, apsw.SQLError, UnicodeDecodeError)):
        return DamagedFile(
            f"{path!r} is no foretell database, or is damaged: restore it from a backup"
        )
    if isinstance(error, apsw.CantOpenError) and Path(path).is_dir():
        return InvalidInput(f"{path!r} is a folder: name a file in it")
    if isinstance(error, (apsw.CantOpenError, apsw.ReadOnlyError)) and not write:
        return InvalidInput(
            f"the database {path!r} cannot be read where it is, though nothing is to be written: "
            f"copy it, and its -wal if it has one, to a folder you can write to"
        )
    if isinstance(error, apsw.CantOpenError):
        return InvalidInput(
            f"cannot open the database {path!r}: its folder must exist and be writable"
        )
    if isinstance(error, apsw.ReadOnlyError):
        return InvalidInput(
            f"the database {path!r} cannot be written: make its file writable, "
            f"or restore it from a backup if it is damaged"
        )
    return None


class DamagedPages(Damaged):
    """The database itself cannot be read, whatever record was asked for."""

    def __init__(self, error: Exception) -> None:
        """Quote what SQLite has found."""
        RequestProblem.__init__(
            self,
            f"the database is damaged ({error}): run foretell verify, "
            f"and restore the log from a backup",
        )
        self.seq = 0


@contextmanager
def driver_errors_wrapped(path: str) -> Iterator[None]:
    """Raise an error of the driver as one of ours that names the database."""
    try:
        yield
    except apsw.Error as error:
        raise ForetellError(f"the database {path!r} cannot be used: {error}") from error


def abandon_connection(connection: apsw.Connection) -> None:
    """Close a connection that has failed, without a checkpoint.

    After a failed sync the journal may hold what is not on disk: it must not be moved to the
    database before it is written again.
    """
    with suppress(apsw.Error):
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.close()


def _make_private_file(path: str) -> None:
    """Make a file that nobody else may read, where there is none: a database holds secrets."""
    with suppress(OSError):  # an existing file is not opened: closing it would drop its locks
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def _refuse_other_databases(connection: apsw.Connection, path: str) -> None:
    """Refuse a database of another program before anything in it is changed."""
    known = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if known and not connection.table_exists("main", "events"):
        journal = Path(f"{path}-wal")
        if not journal.exists() or journal.stat().st_size == 0:
            connection.close()  # which removes the files that it made for reading
        raise InvalidInput(f"{path!r} is a database of something else: choose another name")


def _prepare(connection: apsw.Connection) -> None:
    with connection:
        connection.execute(TABLES)
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (DATABASE_FORMAT,))


def _check_format(connection: apsw.Connection, path: str) -> None:
    connection.execute("SELECT seq FROM events LIMIT 0")
    found = connection.execute("SELECT value FROM meta WHERE name = 'format'").get
    if found != DATABASE_FORMAT:
        raise InvalidInput(
            f"{path!r} has the format {found}, and this version of foretell reads "
            f"{DATABASE_FORMAT}: use the version that wrote it"
        )
