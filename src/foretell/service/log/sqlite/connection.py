"""One connection to the database: how it is opened, or refused in a sentence."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw

from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.service.log.errors import LogClosed
from foretell.service.log.sqlite.rows import read_settings, write_settings

LOG_FORMAT = 1
MOVED_FORMAT = 2
"""The format of a database that a log was copied to, or from which it has moved."""
BUSY_MILLISECONDS = 5000
"""How long a connection waits while another one holds the lock."""
OLDEST_SQLITE = 3_051_003
"""Older versions may lose a log that two connections checkpoint."""
CACHED_STATEMENTS = 400
"""Prepared statements that a connection keeps: there is one for each number of rows."""
SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8")


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
        connection = apsw.Connection(
            path, flags=flags, vfs=vfs, statementcachesize=CACHED_STATEMENTS
        )
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.pragma("cache_size", -8192)
        connection.pragma("mmap_size", 0)
        connection.pragma("temp_store", "memory")  # a full /tmp must not close the log
        if write:
            _refuse_other_databases(connection, path)
            _refuse_old_format(connection, path)
            connection.pragma("journal_mode", "wal")
            connection.pragma("synchronous", "full")
            connection.pragma("secure_delete", "on")
            _prepare(connection)
        else:
            connection.pragma("query_only", "on")
            _refuse_old_format(connection, path)
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
    if isinstance(error, apsw.CantOpenError) and _may_be_opened(path):
        return LogClosed(
            f"the database {path!r} cannot be opened now, though nothing forbids it: close other "
            f"files if too many are open, and try again"
        )
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


def _may_be_opened(path: str) -> bool:
    """Whether nothing forbids to open a database, so that the system must be short of something."""
    folder = Path(path).absolute().parent
    is_file = Path(path).is_file() and os.access(path, os.R_OK | os.W_OK)
    return is_file and os.access(folder, os.W_OK)


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


def _refuse_old_format(connection: apsw.Connection, path: str) -> None:
    """Refuse a database from before the log had stamps, before anything in it is changed."""
    columns = connection.execute("SELECT name FROM pragma_table_info('events')").fetchall()
    if ("round",) in columns:
        raise InvalidInput(
            f"{path!r} was written by a version of foretell before 0.1, whose log cannot be read "
            f"any more: keep it for that version, and begin with another database"
        )


def _prepare(connection: apsw.Connection) -> None:
    connection.execute("BEGIN")  # if it fails, the connection is closed
    connection.execute(SCHEMA)
    if not connection.execute("SELECT count(*) FROM meta").get:
        write_settings(connection, log_format=LOG_FORMAT)
    connection.execute("COMMIT")


def _check_format(connection: apsw.Connection, path: str) -> None:
    connection.execute("SELECT seq FROM events LIMIT 0")
    found = connection.execute("SELECT value FROM meta WHERE name = 'log_format'").get
    if found not in (LOG_FORMAT, MOVED_FORMAT):
        with suppress(apsw.SQLError):  # another format may store its settings in another way
            read_settings(connection)
        raise InvalidInput(
            f"{path!r} has the format {found}, and this version of foretell reads "
            f"up to {MOVED_FORMAT}: use the version that wrote it"
        )
