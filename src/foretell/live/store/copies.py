"""Whole databases: copied while they are used, checked line by line, put in place."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from foretell.errors import ForetellError, InvalidInput
from foretell.live.problems import Damaged
from foretell.live.store.journal import RELAXED, forgotten
from foretell.live.store.record import COLUMNS, LINK, ROOT, event_of, link_after, sealed, sound
from foretell.live.store.schema import connect, only_ours


class Found(NamedTuple):
    """What a check has found."""

    lines: int
    snapshots: int
    damage: list[str]
    """A sentence for each thing that is damaged."""


def back_up(path: str, target: str) -> None:
    """Write a consistent copy, while the database may be written; whole or not at all."""
    if Path(target).exists():
        raise InvalidInput(f"{target!r} exists already: choose another name for the copy")
    part = f"{target}.part"
    source = connect(path, write=False)
    try:
        Path(part).unlink(missing_ok=True)
        only_ours(part)
        source.pragma("query_only", "off")  # it writes to the copy alone
        source.execute("VACUUM INTO ?", (part,))
        _sync(part)
        Path(part).rename(target)
    except apsw.FullError:
        raise ForetellError(f"there is no room for the copy {target!r}: free some space") from None
    except OSError as error:
        raise InvalidInput(f"the copy {target!r} cannot be written: {error.strerror}") from None
    finally:
        source.close()
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
    _sync(str(Path(target).absolute().parent))


def meta_of(path: str, name: str) -> Any:
    """Give a value that a database keeps beside its log; None where it has none."""
    connection = connect(path, write=False)
    try:
        return connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    finally:
        connection.close()


def put_in_place(copy: str, path: str) -> str | None:
    """Make a checked copy the database; nobody may use either.

    At every moment there is a whole database. What was there is kept, and its new name given.
    """
    part, aside = f"{path}.part", None
    Path(part).unlink(missing_ok=True)
    only_ours(part)
    shutil.copyfile(copy, part)
    _sync(part)
    if Path(path).exists():
        aside = _free_name(f"{path}.before-restore")
        with suppress(ForetellError, apsw.Error):  # a damaged one is kept with its journal
            connect(path, write=True).close()
        os.link(path, aside)
        for ending in ("-wal", "-shm"):
            if Path(path + ending).exists():
                Path(path + ending).replace(aside + ending)
    Path(part).replace(path)
    _sync(str(Path(path).absolute().parent))
    return aside


def _free_name(wanted: str) -> str:
    number, name = 1, wanted
    while Path(name).exists():
        number += 1
        name = f"{wanted}-{number}"
    return name


def verified(path: str, breathe: Callable[[], None] = lambda: None) -> Found:
    """Check a database whole: its pages, every line, the chain, contexts and snapshots.

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
    link, expected, lines = ROOT, 1, 0
    for row in connection.execute(f"SELECT {COLUMNS} FROM events ORDER BY seq"):
        lines += 1
        if lines % 256 == 0:
            breathe()
        if expected < row[0]:
            found.damage.append(f"line {expected} is missing")
        else:
            try:
                event_of(row)
                if link_after(link, row[5], row[4]) != row[6]:
                    found.damage.append(f"line {row[0]} does not follow from the line before it")
            except Damaged as error:
                found.damage.append(f"line {error.seq} does not match its checksum")
        whole = isinstance(row[6], bytes) and len(row[6]) == LINK
        link, expected = row[6] if whole else ROOT, row[0] + 1
    return found._replace(lines=lines)


def _contexts(connection: apsw.Connection, found: Found, breathe: Breathe) -> Found:
    every = connection.execute("SELECT seq, campaign, unit, context, checksum FROM personal")
    for number, row in enumerate(every):
        if number % 256 == 0:
            breathe()
        if not sound(*row):
            found.damage.append(f"the context of line {row[0]} does not match its checksum")
    return found


def _snapshots(connection: apsw.Connection, found: Found, breathe: Breathe) -> Found:
    snapshots = 0
    for campaign, seq, body, stored in connection.execute(
        "SELECT campaign, seq, body, digest FROM snapshots"
    ):
        snapshots += 1
        breathe()
        if not sealed(campaign, seq, body, stored):
            found.damage.append(
                f"the snapshot of campaign {campaign} at line {seq} does not match its checksum"
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


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
