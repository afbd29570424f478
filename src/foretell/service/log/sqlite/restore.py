"""A copy in place of a database: checked, written beside it whole, and only then put there."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw

from foretell.errors import DamagedFile, ForetellError
from foretell.files import sync
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.backup import verified, write_out
from foretell.service.log.sqlite.campaign_view import open_campaign_reader
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.wal import forgotten
from foretell.service.model.events import KeyMade, KeyRevoked
from foretell.service.model.keys import Keyring


def check_copy(copy: str) -> None:
    """Refuse a copy that is damaged, or with which nobody could use the service."""
    found = verified(copy)
    if found.damage:
        raise DamagedFile(f"the copy cannot be used: {found.damage[0]}")
    if not _admins(copy):
        raise DamagedFile(
            f"the copy cannot be used: its {found.records:,} records hold no admin key, "
            f"and nobody could use the service: take another"
        )


def _admins(copy: str) -> int:
    keyring = Keyring()
    with open_campaign_reader(copy, 0) as log:
        for record in log.about(0, NO_ROUND):
            if isinstance(record.event, KeyMade):
                keyring.add(record.event)
            elif isinstance(record.event, KeyRevoked):
                keyring.revoke(record.event.id)
    return keyring.admins()


def made_ready(copy: str, path: str) -> str:
    """Write a checked copy, its journal included, beside the database; give the file's name."""
    part = f"{path}.part"
    try:
        write_out(copy, part)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    return part


def put_in_place(part: str, path: str) -> str | None:
    """Make a copy that was made ready the database; nobody may use either.

    At every moment there is a whole database. What was there is kept, and its new name given.
    """
    aside = _kept(path)
    Path(part).replace(path)
    sync(Path(path).absolute().parent)
    return aside


def discard(part: str) -> None:
    """Remove a copy that was made ready, if it was not put in place."""
    Path(part).unlink(missing_ok=True)


def _kept(path: str) -> str | None:
    """Return what is there another name; a journal that is damaged or left behind goes with it."""
    aside = _free_name(f"{path}.before-restore")
    if Path(path).exists():
        with suppress(ForetellError, apsw.Error):
            if not forgotten(path):
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
