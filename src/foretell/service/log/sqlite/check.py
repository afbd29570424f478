"""The check of a whole database: its pages, every record, the chain, and what is next to them."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import apsw

from foretell.service.log.chain import KeptLink, find_damage
from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import LogCheck
from foretell.service.log.record import (
    UNREADABLE,
    claim_number,
    personal_is_sound,
    row_checksum,
    state_is_sound,
)
from foretell.service.log.sqlite.appender import CLAIMS_MODULUS, RANK_EVERY, unit_claim
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.copied_records import find_copied_damage
from foretell.service.log.sqlite.copied_streams import read_copied_streams
from foretell.service.log.sqlite.driver_errors import PASSING, driver_errors_wrapped
from foretell.service.log.sqlite.rows import COLUMNS, read_settings, row_of
from foretell.service.log.sqlite.stream import Stream, read_stream
from foretell.service.log.sqlite.wal import count_lost_transactions

ROWS_BETWEEN_PAUSES = 256
Pause = Callable[[int], None]


def check_database(path: str, pause: Pause = lambda _: None) -> LogCheck:
    """Check everything in a database; `pause` is called now and then, to go slowly.

    Raises `LogClosed` if it cannot be read now, which is no damage.
    """
    with driver_errors_wrapped(path):
        return _check_database(path, pause)


def _check_database(path: str, pause: Pause) -> LogCheck:
    connection = connect(path, write=False)
    try:
        damage: list[str] = []
        journal = partial(_journal, path)
        next_to_them = (_claims, _ranks, _contexts, _states, _counts, _settings)
        for part in (_records, *next_to_them, _pages, journal):
            try:
                with connection:  # a server may be writing: what is compared is of one moment
                    damage += part(connection, pause)
            except Damaged as error:
                damage.append(str(error))
            except PASSING as error:
                if connection.system_errno != errno.EIO:
                    raise
                damage.append(f"the database cannot be read: {error}")
            except apsw.SQLError as error:  # also when there is nothing to roll back any more
                if isinstance(error.__context__, PASSING):
                    raise error.__context__ from None
                damage.append(f"the database is damaged: {error}")
            except (apsw.Error, *UNREADABLE) as error:
                if isinstance(error.__context__, PASSING):
                    raise error.__context__ from None  # after which nothing was left to roll back
                damage.append(f"the database is damaged: {error}")
        return LogCheck(_count(connection, "events"), _count(connection, "states"), damage)
    finally:
        connection.close()


def _count(connection: apsw.Connection, table: str) -> int:
    try:
        return connection.execute(f"SELECT count(*) FROM {table}").get
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
        return 0


def _records(connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    stream = read_stream(connection) or Stream()
    copied = read_copied_streams(connection)
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM events WHERE seq >= ? ORDER BY seq", (stream.first,)
    )
    links = connection.execute(
        "SELECT number, seq, link FROM links WHERE stream = ? ORDER BY seq", (stream.number,)
    )
    checked = chain(
        find_copied_damage(connection, copied) if copied else (),
        find_damage(map(row_of, rows), (KeptLink(*row) for row in links), stream.link),
    )
    for number, sentence in enumerate(checked, 1):
        if number % ROWS_BETWEEN_PAUSES == 0:
            pause(ROWS_BETWEEN_PAUSES)
        if sentence is not None:
            yield sentence


def _claims(connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    """Check that what was claimed is what was claimed before."""
    stream = read_stream(connection) or Stream()
    copied = sum(one.claims for one in read_copied_streams(connection))
    try:
        sound = _sum_of_claims(connection, pause) == (stream.claims + copied) % CLAIMS_MODULUS
    except UNREADABLE:  # a damaged value may be of another type
        sound = False
    if not sound:
        yield "the keys that were claimed do not match their checksum: one was changed or removed"


def _sum_of_claims(connection: apsw.Connection, pause: Pause) -> int:
    total = 0
    for number, row in enumerate(connection.execute("SELECT campaign, key, seq FROM keys"), 1):
        total += claim_number(*row)
        if number % ROWS_BETWEEN_PAUSES == 0:
            pause(0)
    for campaign, unit, n, action, seq in connection.execute("SELECT * FROM units"):
        total += claim_number(campaign, unit_claim(unit, n, action), seq)
    return total % CLAIMS_MODULUS


def _ranks(connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    """Check that every rank that is kept, and no other, is that of its decision."""
    ranked = connection.execute(
        "SELECT campaign, seq, row_number() OVER (PARTITION BY campaign ORDER BY seq) - 1 AS rank "
        "FROM events INDEXED BY decisions WHERE decision IS NULL"
    )
    expected = set()
    for number, row in enumerate(ranked, 1):
        if number % ROWS_BETWEEN_PAUSES == 0:
            pause(0)
        if row[2] % RANK_EVERY == 0:
            expected.add(row)
    # in the order of the table: without it the index `rank_of` would be read in its place
    kept = connection.execute("SELECT * FROM ranks ORDER BY campaign, seq")
    for campaign, seq, _ in expected ^ set(kept):
        yield f"the rank of decision {seq} of campaign {campaign} is wrong or missing"


def _contexts(connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    rows = connection.execute("SELECT seq, campaign, unit, context, checksum FROM personal")
    for number, row in enumerate(rows, 1):
        if number % ROWS_BETWEEN_PAUSES == 0:
            pause(0)
        if not personal_is_sound(*row):
            yield f"the context of record {row[0]} does not match its checksum"


def _states(connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    rows = connection.execute(
        "SELECT campaign, position, CAST(version AS BLOB), body, digest FROM states"
    )
    for campaign, position, version, body, digest in rows:
        pause(0)
        text = version.decode(errors="replace") if isinstance(version, bytes) else version
        if not state_is_sound(campaign, position, text, body, digest):
            yield f"the state of campaign {campaign} as of {position} does not match its checksum"


def _counts(connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    rows = connection.execute("SELECT campaign, CAST(name AS BLOB), count, checksum FROM counters")
    for campaign, name, count, checksum in rows:
        pause(0)
        text = name.decode(errors="replace") if isinstance(name, bytes) else name
        if row_checksum(campaign, text, count) != checksum:
            yield f"the count of {text!r} of campaign {campaign} does not match its checksum"


def _settings(connection: apsw.Connection, _: Pause) -> Iterator[str]:
    read_settings(connection)
    yield from ()


def _pages(connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    for (sentence,) in connection.execute("PRAGMA integrity_check(20)"):
        pause(0)
        if sentence != "ok":
            yield f"the database is damaged: {sentence}"


def _journal(path: str, connection: apsw.Connection, pause: Pause) -> Iterator[str]:
    if read_settings(connection).get("durability") == "relaxed":
        return
    for _ in range(3):  # a server may be writing it
        lost = count_lost_transactions(path)
        if lost == 0:
            return
        pause(0)
    yield f"the journal is damaged: {lost} transactions in it cannot be read"
