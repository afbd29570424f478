"""Whole databases: copied while they are used, checked record by record."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from foretell.errors import ForetellError, InvalidInput
from foretell.files import sync
from foretell.service.log.record import COLUMNS, LINK, ROOT, event_of, link_after, sealed, sound
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.wal import RELAXED, forgotten
from foretell.service.model.errors import Damaged


class Found(NamedTuple):
    """What a check has found."""

    records: int
    snapshots: int
    damage: list[str]
    """A sentence for each thing that is damaged."""


def back_up(path: str, target: str) -> None:
    """Write a consistent copy, while the database may be written; whole or not at all."""
    if Path(target).exists():
        raise InvalidInput(f"{target!r} exists already: choose another name for the copy")
    part = f"{target}.part"
    try:
        write_out(path, part)
        Path(part).rename(target)
        sync(Path(target).absolute().parent)
    except OSError as error:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
        if error.errno == errno.ENOSPC:
            raise ForetellError(
                f"there is no room for the copy {target!r}: free some space"
            ) from None
        raise InvalidInput(f"the copy {target!r} cannot be written: {error.strerror}") from None


def write_out(path: str, part: str) -> None:
    """Write all that a database holds, its journal included, to a file that only we may read."""
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
        raise
    finally:
        source.close()


def meta_of(path: str, name: str) -> Any:
    """Return a value that a database keeps beside its log; None where it has none."""
    connection = connect(path, write=False)
    try:
        return connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    finally:
        connection.close()


def verified(path: str, breathe: Callable[[], None] = lambda: None) -> Found:
    """Check a database whole: its pages, every record, the chain, contexts and snapshots.

    `breathe` is called now and then, to go slowly.
    """
    connection = connect(path, write=False)
    try:
        found = Found(0, 0, [])
        for part in (_lines, _contexts, _snapshots, _pages, partial(_journal, path)):
            try:
                found = part(connection, found, breathe)
            except (apsw.Error, UnicodeDecodeError) as error:
                found.damage.append(f"the database is damaged: {error}")
    finally:
        connection.close()
    return found


Breathe = Callable[[], None]


def _lines(connection: apsw.Connection, found: Found, breathe: Breathe) -> Found:
    link, expected, records = ROOT, 1, 0
    for row in connection.execute(f"SELECT {COLUMNS} FROM events ORDER BY seq"):
        records += 1
        if records % 256 == 0:
            breathe()
        if expected < row[0]:
            found.damage.append(f"record {expected} is missing")
        else:
            try:
                event_of(row)
                if link_after(link, row[5], row[4]) != row[6]:
                    found.damage.append(
                        f"record {row[0]} does not follow from the record before it"
                    )
            except Damaged as error:
                found.damage.append(f"record {error.seq} does not match its checksum")
        whole = isinstance(row[6], bytes) and len(row[6]) == LINK
        link, expected = row[6] if whole else ROOT, row[0] + 1
    return found._replace(records=records)


def _contexts(connection: apsw.Connection, found: Found, breathe: Breathe) -> Found:
    every = connection.execute("SELECT seq, campaign, unit, context, checksum FROM personal")
    for number, row in enumerate(every):
        if number % 256 == 0:
            breathe()
        if not sound(*row):
            found.damage.append(f"the context of record {row[0]} does not match its checksum")
    return found


def _snapshots(connection: apsw.Connection, found: Found, breathe: Breathe) -> Found:
    snapshots = 0
    for campaign, seq, body, record in connection.execute(
        "SELECT campaign, seq, body, digest FROM snapshots"
    ):
        snapshots += 1
        breathe()
        if not sealed(campaign, seq, body, record):
            found.damage.append(
                f"the snapshot of campaign {campaign} at record {seq} does not match its checksum"
            )
    return found._replace(snapshots=snapshots)


def _pages(connection: apsw.Connection, found: Found, breathe: Breathe) -> Found:
    for (sentence,) in connection.execute("PRAGMA integrity_check(20)"):
        breathe()
        if sentence != "ok":
            found.damage.append(f"the database is damaged: {sentence}")
    return found


def _journal(path: str, connection: apsw.Connection, found: Found, breathe: Breathe) -> Found:
    if connection.execute(RELAXED).get == "relaxed":
        return found
    for _ in range(3):  # it may be written meanwhile
        lost = forgotten(path)
        if lost == 0:
            return found
        breathe()
    found.damage.append(f"the journal is damaged: {lost} transactions in it cannot be read")
    return found
