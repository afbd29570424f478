"""A restore: a copy is checked, written next to the database, and then takes its place."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import apsw

from foretell.errors import DamagedFile, ForetellError
from foretell.files import sync
from foretell.service.log.record import NO_ROUND
from foretell.service.log.sqlite.backup import copy_out
from foretell.service.log.sqlite.campaign_reader import open_campaign_reader
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.wal import count_lost_transactions
from foretell.service.model.events import KeyMade, KeyRevoked
from foretell.service.model.keys import Keyring


def check_copy(copy: str) -> None:
    """Refuse a copy that is damaged, or with which nobody could use the service."""
    found = check_database(copy)
    if found.damage:
        raise DamagedFile(f"the copy cannot be used: {found.damage[0]}")
    if not _count_admin_keys(copy):
        raise DamagedFile(
            f"the copy cannot be used: its {found.records:,} records hold no admin key, "
            f"and nobody could use the service: take another"
        )


def _count_admin_keys(copy: str) -> int:
    keyring = Keyring()
    with open_campaign_reader(copy, 0) as log:
        for record in log.records_about(0, NO_ROUND):
            if isinstance(record.event, KeyMade):
                keyring.add(record.event)
            elif isinstance(record.event, KeyRevoked):
                keyring.revoke(record.event.id)
    return keyring.admins()


def stage_copy(copy: str, path: str) -> str:
    """Write a checked copy, its journal included, next to the database; return the file's name."""
    staged = f"{path}.part"
    try:
        copy_out(copy, staged)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    return staged


def replace_database(staged: str, path: str) -> str | None:
    """Put a staged copy in place of the database; nobody may be using either.

    At every moment there is a complete database. The old one is kept, and its new name returned.
    """
    kept = _keep_old(path)
    Path(staged).replace(path)
    sync(Path(path).absolute().parent)
    return kept


def remove_staged(staged: str) -> None:
    """Remove a staged copy, if it did not become the database."""
    Path(staged).unlink(missing_ok=True)


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
