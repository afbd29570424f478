"""The database: how it is opened after whatever happened, and the errors of its driver.

What a crash left is made durable or refused, and nothing is destroyed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.service.log.clock import Clock
from foretell.service.log.errors import FULL, SHORT, Damaged, LogClosed
from foretell.service.log.sqlite.lock import FileLock, refuse_used_file
from foretell.service.log.sqlite.names import Names, refuse_second_name, refuse_start_without
from foretell.service.log.sqlite.rows import read_settings, write_settings
from foretell.service.log.sqlite.stream import Stream, end_of_chain, read_stream, write_stream
from foretell.service.log.sqlite.wal import count_lost_transactions, rewrite_journal

LOG_FORMAT = 1
BUSY_MILLISECONDS = 5000
"""How long a connection waits while another one holds the lock."""
OLDEST_SQLITE = 3_051_003
"""Older versions may lose a log that two connections checkpoint."""
CACHED_STATEMENTS = 400
"""Prepared statements that a connection keeps: there is one for each number of rows."""
NOTHING = "SELECT 1 FROM meta LIMIT 0"
"""Begins to read, and reads nothing."""
PASSING = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoMemError,
)
"""What SQLite says of a disk or of a system that may be well again: none of it is damage."""
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


class DamagedPages(Damaged):
    """The database itself cannot be read, whatever record was asked for."""

    def __init__(self, error: Exception) -> None:
        """Quote what SQLite has found."""
        DamagedFile.__init__(
            self,
            f"the database is damaged ({error}): run foretell verify, "
            f"and restore the log from a backup",
        )
        self.seq = 0


@contextmanager
def damage_wrapped() -> Iterator[None]:
    """Raise what the driver says of damage as `Damaged`: a blob may have become a text."""
    try:
        yield
    except (
        apsw.CorruptError,
        apsw.NotADBError,
        apsw.ConstraintError,
        UnicodeDecodeError,
    ) as error:
        raise DamagedPages(error) from None


@contextmanager
def driver_errors_wrapped(path: str) -> Iterator[None]:
    """Raise an error of the driver as one of ours that names the database.

    `LogClosed` if it may work later: the disk is full or fails, or too many files are open.
    """
    try:
        with damage_wrapped():
            yield
    except (*PASSING, MemoryError) as error:
        raise LogClosed(f"the database {path!r} cannot be used now ({error})") from error
    except OSError as error:
        if error.errno not in FULL | SHORT:
            raise
        raise LogClosed(f"the database {path!r} cannot be used now ({error.strerror})") from error
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
    if found != LOG_FORMAT:
        with suppress(apsw.SQLError):  # another format may store its settings in another way
            read_settings(connection)
        raise InvalidInput(
            f"{path!r} has the format {found}, and this version of foretell reads "
            f"{LOG_FORMAT}: use the version that wrote it"
        )


class Connections(NamedTuple):
    """The two connections to an open database, and where its log ends."""

    writer: apsw.Connection
    reader: apsw.Connection
    stream: Stream
    names: Names
    lock: FileLock

    def before_answer(self) -> None:
        """Look, after a commit, whether the database bears its name, and ready it for readers.

        The first to read after a commit notes in the shared index how far it reads, and on a disk
        that hangs it would wait there. So the thread that may wait is the first.
        """
        self.names.check_database()
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
        relaxed_before = read_settings(writer).get("durability") == "relaxed"
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


def clock_of(connections: Connections, path: str, scale: float | None) -> Clock:
    """Return the clock of a log, which goes on after its head at the log's own speed."""
    writer, stream = connections.writer, connections.stream
    settings = read_settings(writer)
    marked = settings.get("time_scale")
    if scale is not None and marked is None and stream.head > 0:
        raise InvalidInput(
            f"{path!r} runs at the speed of the clock: time_scale needs a database of its own"
        )
    if scale is not None and marked is not None and scale != marked:
        raise InvalidInput(
            f"{path!r} runs at {marked:g} times the speed of the clock, got {scale:g}: "
            f"leave time_scale out, or take another database"
        )
    clock = Clock(stream.mark, scale or marked or 1.0, settings.get("time_origin"))
    if scale is not None and marked is None:
        write_settings(writer, time_scale=float(scale), time_origin=clock.origin)
    try:
        clock.now()
    except LogClosed as error:
        raise InvalidInput(f"{path!r} cannot be used: {error}") from None
    return clock


def _refuse_lost_transactions(path: str, lost: int) -> None:
    if lost:
        raise DamagedFile(
            f"the journal of {path!r} is damaged, and {lost} transactions in it cannot be read: "
            f"restore a backup, or remove {path}-wal to go on without them"
        )
