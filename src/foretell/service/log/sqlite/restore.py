"""Copies of a database: a backup is written while it is used, and a restore takes its place."""

from __future__ import annotations

import errno
import logging
import os
import shutil
from contextlib import suppress
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from foretell.errors import ForetellError, InvalidInput
from foretell.files import sync
from foretell.protocol.fields import SQLITE_COPY
from foretell.service.log.errors import FULL, READ_ONLY, SHORT
from foretell.service.log.moving import refuse_other_kind
from foretell.service.log.protocol import refuse_unusable
from foretell.service.log.record import record_of
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.rows import COLUMNS, read_settings, row_of
from foretell.service.log.sqlite.wal import count_lost_transactions
from foretell.service.model.events import SERVER, Record

SCRATCH = ".scratch-"
"""What the name of a folder for copies has after that of its database."""


def back_up(path: str, target: str) -> None:
    """Write a consistent copy of a database, complete or not at all; raise `OSError`."""
    if Path(target).exists():
        raise InvalidInput(f"{target!r} exists already: choose another name for the copy")
    part = f"{target}.part"
    try:
        copy_out(path, part)
        Path(part).rename(target)
        sync(Path(target).absolute().parent)
    except OSError:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
        raise


def copy_out(path: str, part: str) -> None:
    """Write all that a database holds, its journal included, to a private file."""
    source = connect(path, write=False)
    try:
        Path(part).unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        source.pragma("query_only", "off")  # it writes to the copy alone
        source.execute("VACUUM INTO ?", (part,))
        sync(part)
    except BaseException as error:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
        if isinstance(error, apsw.FullError):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), part) from None
        known = source.system_errno in FULL | READ_ONLY | SHORT  # else it is of an earlier call
        if isinstance(error, (apsw.IOError, apsw.CantOpenError)) and known:
            raise OSError(source.system_errno, os.strerror(source.system_errno), part) from None
        raise
    finally:
        source.close()


logger = logging.getLogger("foretell.service")


def check_copy(copy: str) -> None:
    """Refuse a copy that is damaged, or with which nobody could use the service."""
    refuse_other_kind(copy, SQLITE_COPY)
    found = check_database(copy)
    refuse_unusable(found, [] if found.damage else _about_server(copy))


def _about_server(copy: str) -> list[Record]:
    connection = connect(copy, write=False)
    try:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM events WHERE campaign = ? AND decision = 0 ORDER BY seq",
            (SERVER,),
        )
        return [record_of(row_of(row)) for row in rows]
    finally:
        connection.close()


def refuse_other_speed(copy: str, time_scale: float | None) -> None:
    """Refuse a copy whose time runs at another speed."""
    connection = connect(copy, write=False)
    try:
        copied = read_settings(connection).get("time_scale")
    finally:
        connection.close()
    if copied != time_scale:
        raise InvalidInput(
            "the copy and this server run at different speeds of the clock, "
            "and one is a test: restore it to a database of its own"
        )


def stage_copy(copy: str, path: str) -> str:
    """Write a checked copy, its journal included, next to the database; return the file's name."""
    staged = _staged(path)
    try:
        copy_out(copy, staged)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    return staged


def replace_database(staged: str, path: str) -> None:
    """Put a staged copy in place of the database; nobody may be using either.

    At every moment there is a complete database, and the old one is kept.
    """
    kept = _keep_old(path)
    Path(staged).replace(path)
    sync(Path(path).absolute().parent)
    where = "there was none before" if kept is None else f"the old database is in {kept}"
    logger.warning("restored; %s", where)


def remove_staged(path: str) -> None:
    """Remove a staged copy, if it did not become the database."""
    Path(_staged(path)).unlink(missing_ok=True)


def make_scratch_folder(path: str) -> TemporaryDirectory[str]:
    """Make a private folder next to a database, for copies that hold its secrets."""
    place = Path(path).absolute()
    return TemporaryDirectory(
        prefix=place.name + SCRATCH,
        dir=place.parent,
        ignore_cleanup_errors=True,  # what cannot be removed now is removed by the next start
    )


def remove_leftovers(path: str) -> None:
    """Remove the copies that a crash has left, and undo a restore that it cut off."""
    remove_staged(path)
    for folder in Path(path).absolute().parent.glob(f"{escape(Path(path).name + SCRATCH)}*"):
        shutil.rmtree(folder, ignore_errors=True)
    if Path(path).exists() and Path(path).stat().st_nlink > 1:
        for name in Path(path).parent.glob(f"{escape(Path(path).name)}.before-restore*"):
            if not name.name.endswith(("-wal", "-shm")) and name.samefile(path):
                if Path(f"{name}-wal").exists():
                    Path(f"{name}-wal").replace(f"{path}-wal")
                name.unlink()


def _staged(path: str) -> str:
    return f"{path}.part"


def _keep_old(path: str) -> str | None:
    """Rename the old database; a journal that is damaged or orphaned goes with it."""
    aside = _free_name(f"{path}.before-restore")
    if Path(path).exists():
        with suppress(ForetellError, apsw.Error):
            if not count_lost_transactions(path):
                connect(path, write=True).close()
        os.link(path, aside)
    for ending in ("-wal", "-shm"):
        if Path(path + ending).exists():
            Path(path + ending).replace(aside + ending)
    return aside if Path(aside).exists() else None


def _free_name(wanted: str) -> str:
    number, name = 1, wanted
    while any(Path(name + ending).exists() for ending in ("", "-wal")):
        number += 1
        name = f"{wanted}-{number}"
    return name
