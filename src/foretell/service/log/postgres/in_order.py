"""Records in order, with the chain of every stream that has written them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from foretell.service.log.chain import LINK_EVERY, KeptLink
from foretell.service.log.errors import Damaged
from foretell.service.log.owners import Owners, verify_streams
from foretell.service.log.postgres.archived_ranges import read_archives
from foretell.service.log.postgres.rows import COLUMNS, row_of
from foretell.service.log.postgres.streams import read_streams
from foretell.service.log.record import StoredRow, record_of
from foretell.service.log.stream_row import StreamRow
from foretell.service.model.events import SLOTS, Record

_LAST = (1 << 63) - 1
ORPHANED = (
    "NOT EXISTS (SELECT 1 FROM foretell.streams WHERE "
    f"streams.slot = (events.seq & {SLOTS - 1}) "
    "AND events.seq BETWEEN streams.first AND streams.last)"
)
"""Holds for a record that no stream has written."""


async def read_in_order(connection: Any, after: int, count: int) -> list[Record]:
    """Return records after one, checked from one link that was kept to another, in one snapshot.

    What an archive has left of its range is checked record by record: the chains go on after it.
    """
    for archive in await read_archives(connection):
        if after + 1 < archive.first and (
            found := await _read_chained(connection, after, count, archive.first)
        ):
            return found
        if after + 1 < archive.end:
            left = await _read_rows(connection, max(after, archive.first - 1), archive.end, count)
            if left:
                return [record_of(row) for row in left]
            after = archive.end - 1
    return await _read_chained(connection, after, count, None)


async def _read_rows(
    connection: Any, after: int, before: int | None, limit: int
) -> list[StoredRow]:
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM foretell.events WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT $3",
        after,
        _LAST if before is None else before,
        limit,
    )
    return [row_of(row) for row in rows]


async def _read_chained(
    connection: Any, after: int, count: int, before: int | None
) -> list[Record]:
    """Return records after one, and before another where something is archived from there on."""
    limit = (count // LINK_EVERY + 2) * LINK_EVERY
    page = await _read_rows(connection, after, before, limit)
    if not page and before is not None:
        return []
    streams = {one.stream: one for one in await read_streams(connection, "last > $1", after)}
    if not streams:
        if page:
            raise Damaged("a record after", after)
        return []
    end = page[-1].seq if len(page) == limit or before is not None else None
    starts, kept = await _read_links(connection, list(streams), after, end)
    first = min(
        starts[number].seq + 1 if number in starts else stream.first
        for number, stream in streams.items()
    )
    rows, owners = await _read_back(connection, streams, first, after)
    return verify_streams([*rows, *page], owners, streams, starts, kept, after, end)


async def _read_links(
    connection: Any, streams: list[int], after: int, end: int | None
) -> tuple[dict[int, KeptLink], dict[int, dict[int, bytes]]]:
    """Return the last link of each stream up to a record, and those that follow."""
    starts: dict[int, KeptLink] = {}
    kept: dict[int, dict[int, bytes]] = {}
    rows: Iterable[Any] = await connection.fetch(
        "SELECT links.* FROM unnest($1::integer[]) AS wanted (stream) CROSS JOIN LATERAL ("
        "(SELECT stream, seq, number, link FROM foretell.links WHERE links.stream = wanted.stream "
        "AND seq <= $2 ORDER BY seq DESC LIMIT 1) UNION ALL "
        "SELECT stream, seq, number, link FROM foretell.links WHERE links.stream = wanted.stream "
        "AND seq > $2 AND seq <= $3) AS links",
        streams,
        after,
        _LAST if end is None else end,
    )
    for stream, seq, number, link in rows:
        if seq <= after:
            starts[stream] = KeptLink(number, seq, link)
        else:
            kept.setdefault(stream, {})[seq] = link
    return starts, kept


async def _read_back(
    connection: Any, streams: dict[int, StreamRow], first: int, after: int
) -> tuple[list[StoredRow], Owners]:
    """Return the records of streams since their last links, and those that nobody has written."""
    if first > after:
        return [], Owners(list(streams.values()))
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM foretell.events WHERE seq >= $1 AND seq <= $2 "
        f"AND ((seq & {SLOTS - 1}) = ANY($3::bigint[]) OR {ORPHANED}) ORDER BY seq",
        first,
        after,
        [stream.slot for stream in streams.values()],
    )
    known = await read_streams(connection, "last >= $1", first)
    return [row_of(row) for row in rows], Owners(known)
