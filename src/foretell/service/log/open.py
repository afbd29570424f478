"""Which engine keeps a log follows from its location: an address of PostgreSQL, or a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from foretell.errors import InvalidInput, MissingExtra
from foretell.protocol.fields import POSTGRES_COPY
from foretell.service.database_address import is_address
from foretell.service.log.archives import Archiver
from foretell.service.log.clock import Clock
from foretell.service.log.errors import FULL, NoRoom
from foretell.service.log.moving import Moved, kind_of_copy, move_log
from foretell.service.log.protocol import Log, LogReader
from foretell.service.log.sqlite.driver_errors import driver_errors_wrapped
from foretell.service.log.sqlite.lock import Lock, refuse_used_file
from foretell.service.log.sqlite.log import SqliteLog, open_sqlite_reader
from foretell.service.log.sqlite.moving_file import FileSource, FileTarget
from foretell.service.log.sqlite.restore import (
    back_up,
    check_copy,
    make_scratch_folder,
    remove_staged,
    replace_database,
    stage_copy,
)


async def open_log(
    location: str,
    *,
    durability: str = "full",
    time_scale: float | None = None,
    vfs: str | None = None,
    clock: Clock | None = None,
) -> Log:
    """Open a log, making it where there is none.

    With `relaxed` durability decisions survive a crash of the process, not a power cut. A new file
    may be told the time by a `clock`, where its past is played.
    """
    if is_address(location):
        refuse_relaxed(durability)
        with postgres_extra():
            from foretell.service.log.postgres.log import PostgresLog

        return await PostgresLog.open(location, time_scale=time_scale)
    path = _database_file(location)
    with driver_errors_wrapped(path):
        relaxed = durability == "relaxed"
        return SqliteLog(path, relaxed=relaxed, time_scale=time_scale, vfs=vfs, clock=clock)


@contextmanager
def open_reader(location: str) -> Iterator[LogReader]:
    """Open a reader of a log, which a server may be writing meanwhile."""
    if is_address(location):
        with postgres_extra():
            from foretell.service.log.postgres.log import open_postgres_reader

        with open_postgres_reader(location) as reader:
            yield reader
        return
    path = _real_name(location)
    is_copy = kind_of_copy(path) is POSTGRES_COPY
    opened = _open_copy(path) if is_copy else open_sqlite_reader(path)
    with driver_errors_wrapped(path), opened as reader:
        yield reader


@contextmanager
def _open_copy(copy: str) -> Iterator[LogReader]:
    """Open a reader of a copy of a log in PostgreSQL, by way of a database file next to it."""
    with postgres_extra():
        from foretell.service.log.postgres.copies import load_copy
    try:
        folder = make_scratch_folder(copy)
    except OSError as error:
        raise InvalidInput(
            f"the copy {copy!r} is read by way of a database next to it, which cannot be made "
            f"({error.strerror}): copy it to a folder that you can write to"
        ) from None
    with folder as place:
        path = str(Path(place) / "copy.db")
        with FileTarget(path) as target:
            load_copy(copy, target)
        with open_sqlite_reader(path) as reader:
            yield reader


def back_up_log(location: str, target: str) -> None:
    """Write a consistent copy of a log to a file; a server may be writing the log meanwhile."""
    path = _database_file(location)
    with driver_errors_wrapped(path):
        try:
            if is_address(location):
                with postgres_extra():
                    from foretell.service.log.postgres.copies import back_up as back_up_rows

                back_up_rows(location, target)
            else:
                back_up(path, target)
        except OSError as error:
            if error.errno in FULL:
                raise NoRoom(f"there is no room for the copy {target!r}: free some space") from None
            raise InvalidInput(f"the copy {target!r} cannot be written: {error.strerror}") from None


def restore_log(copy: str, location: str) -> None:
    """Put a copy in place of a log that no server uses."""
    if is_address(location):
        with postgres_extra():
            from foretell.service.log.postgres.copies import put_in_place

        put_in_place(location, copy)
        return
    path = _real_name(location)
    with driver_errors_wrapped(copy):
        check_copy(copy)
        with Lock(path):
            refuse_used_file(path)
            staged = stage_copy(copy, path)
            try:
                replace_database(staged, path)
            finally:
                remove_staged(path)


def copy_log(source: str, target: str, advance: Callable[[int], None] = lambda _: None) -> Moved:
    """Move a log to another database, and seal its source; a copy that was stopped goes on."""
    if is_address(source) or is_address(target):
        with postgres_extra():
            from foretell.service.log.postgres.moving_database import DatabaseSource, DatabaseTarget
    path = _database_file(source)
    with (
        driver_errors_wrapped(path),
        DatabaseSource(source) if is_address(source) else FileSource(path) as here,
        driver_errors_wrapped(_real_name(target)),
        DatabaseTarget(target) if is_address(target) else FileTarget(_real_name(target)) as there,
    ):
        return move_log(here, there, advance)


def open_archiver(location: str) -> AbstractAsyncContextManager[Archiver]:
    """Open what takes old partitions out of a log in PostgreSQL."""
    if not is_address(location):
        raise InvalidInput(
            f"{location!r} is a file, which has no partitions: foretell archive is for a log in "
            f"PostgreSQL"
        )
    with postgres_extra():
        from foretell.service.log.postgres.partition_archiver import open_partition_archiver
    return open_partition_archiver(location)


def refuse_relaxed(durability: str) -> None:
    """Refuse to answer before the server has written: that is the server's to set."""
    if durability == "relaxed":
        raise InvalidInput(
            "durability relaxed is for a database file: with PostgreSQL every answer waits for "
            "the server's disk, leave it out"
        )


@contextmanager
def postgres_extra() -> Iterator[None]:
    """Name the extra, if what it installs is missing."""
    try:
        yield
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "foretell":
            raise
        raise MissingExtra(
            f"a log in PostgreSQL needs {error.name}, which is not installed: "
            f"install it with pip install 'foretell[postgres]'"
        ) from None


def _database_file(location: str) -> str:
    """Return the name of the file itself; refuse a copy that is no database."""
    path = _real_name(location)
    if not is_address(path) and kind_of_copy(path) is POSTGRES_COPY:
        raise InvalidInput(
            f"{path!r} is a copy of a log in PostgreSQL, which can be verified and restored: "
            f"restore it to an empty database of PostgreSQL, and use that"
        )
    return path


def _real_name(location: str) -> str:
    """Return the name of the file itself: its journal and its lock are next to that."""
    is_link = "\0" not in location and Path(location).is_symlink()
    return str(Path(location).resolve()) if is_link else location
