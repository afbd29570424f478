"""The check of a whole database: its pages, every record, the chain, contexts and snapshots."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import apsw

from foretell.service.log.record import (
    LINK_BYTES,
    ROOT,
    STORED_COLUMNS,
    event_of,
    link_after,
    personal_is_sound,
    snapshot_is_sound,
)
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.wal import DURABILITY, count_lost_transactions
from foretell.service.model.errors import Damaged

Pause = Callable[[], None]

ROWS_BETWEEN_PAUSES = 256


class DatabaseCheck(NamedTuple):
    """What a check has counted and found."""

    records: int
    snapshots: int
    damage: list[str]
    """A sentence for each thing that is damaged."""


def check_database(path: str, pause: Pause = lambda: None) -> DatabaseCheck:
    """Check everything in a database; `pause` is called now and then, to go slowly."""
    connection = connect(path, write=False)
    try:
        found = DatabaseCheck(0, 0, [])
        for part in (_records, _contexts, _snapshots, _pages, partial(_journal, path)):
            try:
                found = part(connection, found, pause)
            except (apsw.Error, UnicodeDecodeError) as error:
                found.damage.append(f"the database is damaged: {error}")
    finally:
        connection.close()
    return found


def _records(connection: apsw.Connection, found: DatabaseCheck, pause: Pause) -> DatabaseCheck:
    link, expected, records = ROOT, 1, 0
    for row in connection.execute(f"SELECT {STORED_COLUMNS} FROM events ORDER BY seq"):
        records += 1
        if records % ROWS_BETWEEN_PAUSES == 0:
            pause()
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
        is_link = isinstance(row[6], bytes) and len(row[6]) == LINK_BYTES
        link, expected = row[6] if is_link else ROOT, row[0] + 1
    return found._replace(records=records)


def _contexts(connection: apsw.Connection, found: DatabaseCheck, pause: Pause) -> DatabaseCheck:
    rows = connection.execute("SELECT seq, campaign, unit, context, checksum FROM personal")
    for number, row in enumerate(rows):
        if number % ROWS_BETWEEN_PAUSES == 0:
            pause()
        if not personal_is_sound(*row):
            found.damage.append(f"the context of record {row[0]} does not match its checksum")
    return found


def _snapshots(connection: apsw.Connection, found: DatabaseCheck, pause: Pause) -> DatabaseCheck:
    snapshots = 0
    for campaign, seq, body, stored in connection.execute(
        "SELECT campaign, seq, body, digest FROM snapshots"
    ):
        snapshots += 1
        pause()
        if not snapshot_is_sound(campaign, seq, body, stored):
            found.damage.append(
                f"the snapshot of campaign {campaign} at record {seq} does not match its checksum"
            )
    return found._replace(snapshots=snapshots)


def _pages(connection: apsw.Connection, found: DatabaseCheck, pause: Pause) -> DatabaseCheck:
    for (sentence,) in connection.execute("PRAGMA integrity_check(20)"):
        pause()
        if sentence != "ok":
            found.damage.append(f"the database is damaged: {sentence}")
    return found


def _journal(
    path: str, connection: apsw.Connection, found: DatabaseCheck, pause: Pause
) -> DatabaseCheck:
    if connection.execute(DURABILITY).get == "relaxed":
        return found
    for _ in range(3):  # a server may be writing it
        lost = count_lost_transactions(path)
        if lost == 0:
            return found
        pause()
    found.damage.append(f"the journal is damaged: {lost} transactions in it cannot be read")
    return found
