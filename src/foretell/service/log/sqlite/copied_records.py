"""The records of streams that came by copy, in order, and the check of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from foretell.service.log.chain import KeptLink, find_damage
from foretell.service.log.owners import Owners, verify_streams
from foretell.service.log.sqlite.rows import COLUMNS, row_of
from foretell.service.log.sqlite.stream import link_before
from foretell.service.log.stream_row import StreamRow
from foretell.service.model.events import SLOTS, Record


def read_copied_in_order(
    connection: apsw.Connection, copied: Sequence[StreamRow], after: int, limit: int
) -> list[Record]:
    """Return records after one, as far as copied streams reach; raise `Damaged`.

    They are read from the last link of each stream that was kept before them.
    """
    streams = {one.stream: one for one in copied if one.last > after}
    last = max(one.last for one in copied)
    end_of_page = connection.execute(
        "SELECT seq FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT 1 OFFSET ?",
        (after, last, limit - 1),
    ).get
    end = end_of_page or last
    starts: dict[int, KeptLink] = {}
    kept: dict[int, dict[int, bytes]] = {}
    first = after + 1
    for number, stream in streams.items():
        starts[number] = link_before(connection, after, number)
        first = min(first, max(stream.first, starts[number].seq + 1))
        kept[number] = dict(
            connection.execute(
                "SELECT seq, link FROM links WHERE stream = ? AND seq > ? AND seq <= ?",
                (number, after, end),
            )
        )
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM events WHERE seq >= ? AND seq <= ? ORDER BY seq", (first, end)
    )
    return verify_streams(
        [row_of(row) for row in rows], Owners(copied), streams, starts, kept, after, end_of_page
    )


def find_copied_damage(
    connection: apsw.Connection, copied: Sequence[StreamRow]
) -> Iterator[str | None]:
    """Check the streams that came by copy: yield a sentence for each damage, None for the rest."""
    orphans = _orphans(connection, copied)
    for stream in copied:
        rows = connection.execute(
            f"SELECT {COLUMNS} FROM events WHERE (seq BETWEEN ? AND ? AND (seq & {SLOTS - 1}) = ?) "
            f"OR seq IN ({', '.join(map(str, orphans.get(stream.stream, [])))}) ORDER BY seq",
            (stream.first, stream.last, stream.slot),
        )
        links = connection.execute(
            "SELECT number, seq, link FROM links WHERE stream = ? ORDER BY seq", (stream.stream,)
        )
        yield from find_damage(map(row_of, rows), (KeptLink(*row) for row in links), stream.link)


def _orphans(connection: apsw.Connection, copied: Sequence[StreamRow]) -> dict[int, list[int]]:
    """Return the records that no stream has written, by the stream whose chain each breaks."""
    found: dict[int, list[int]] = {}
    owners = Owners(copied)
    for seq, previous in connection.execute(
        "SELECT seq, (SELECT max(seq) FROM events AS before WHERE before.seq < events.seq) "
        "FROM events WHERE seq < ? AND NOT EXISTS (SELECT 1 FROM copied_streams AS one "
        f"WHERE one.slot = (events.seq & {SLOTS - 1}) "
        "AND events.seq BETWEEN one.first AND one.last) ORDER BY seq",
        (max(one.head for one in copied),),
    ):
        owners.owner(previous or 0)
        owner = owners.owner(seq)
        if owner is not None:
            found.setdefault(owner, []).append(seq)
    return found
