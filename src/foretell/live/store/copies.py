"""Whole databases: copied while they are used, checked line by line, put in place."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.live.problems import Damaged
from foretell.live.snapshot import digest
from foretell.live.store.record import COLUMNS, ROOT, event_of, link_after
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
        damage = list(_damage(connection, breathe))
        lines = connection.execute("SELECT count(*) FROM events").get
        snapshots = connection.execute("SELECT count(*) FROM snapshots").get
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError) as error:
        raise DamagedFile(f"{path!r} cannot be read ({error}): restore it from a backup") from None
    finally:
        connection.close()
    return Found(lines, snapshots, damage)


def _damage(connection: apsw.Connection, breathe: Callable[[], None]) -> Iterator[str]:
    yield from _damaged_lines(connection, breathe)
    for seq, unit, context, check in connection.execute(
        "SELECT seq, unit, context, checksum FROM personal"
    ):
        if not sound(seq, unit, context, check):
            yield f"the context of line {seq} does not match its checksum"
    for campaign, seq, body, stored in connection.execute(
        "SELECT campaign, seq, body, digest FROM snapshots"
    ):
        if not isinstance(body, bytes) or seal(campaign, seq, body) != stored:
            yield f"the snapshot of campaign {campaign} at line {seq} does not match its checksum"
    for found in connection.execute("PRAGMA integrity_check(20)"):
        if found[0] != "ok":
            yield f"the database is damaged: {found[0]}"


def _damaged_lines(connection: apsw.Connection, breathe: Callable[[], None]) -> Iterator[str]:
    link, expected = ROOT, 1
    for row in connection.execute(f"SELECT {COLUMNS} FROM events ORDER BY seq"):
        if row[0] % 256 == 0:
            breathe()
        if expected < row[0]:
            yield f"line {expected} is missing"
        else:
            try:
                event_of(row)
                if link_after(link, row[5], row[4]) != row[6]:
                    yield f"line {row[0]} does not follow from the line before it"
            except Damaged as error:
                yield f"line {error.seq} does not match its checksum"
        link, expected = row[6], row[0] + 1


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
