"""Records in order, with the chain of every stream that has written them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from foretell.service.log.chain import LINK_EVERY, START, KeptLink, verified
from foretell.service.log.errors import Damaged
from foretell.service.log.postgres.rows import COLUMNS, row_of, slot_of
from foretell.service.log.postgres.streams import StreamRow, read_streams
from foretell.service.log.record import StoredRow
from foretell.service.model.events import SLOTS, Record

ORPHANED = (
    "NOT EXISTS (SELECT 1 FROM foretell.streams WHERE "
    f"streams.slot = (events.seq & {SLOTS - 1}) "
    "AND events.seq BETWEEN streams.first AND streams.last)"
)
"""Holds for a record that no stream has written."""


class Owners:
    """Which stream has written a record: the one that had its slot then."""

    def __init__(self, streams: Sequence[StreamRow]) -> None:
        """Sort streams by their slots, and by when they were opened."""
        self._by_slot: dict[int, list[StreamRow]] = {}
        for stream in sorted(streams, key=lambda one: one.first):
            self._by_slot.setdefault(stream.slot, []).append(stream)
        self._last: int | None = min((one.stream for one in streams), default=None)

    def owner(self, seq: int) -> int | None:
        """Return the stream of a record, asked for in order.

        A record that no stream can have written breaks the chain of the one before it.
        """
        streams = self._by_slot.get(slot_of(seq), [])
        index = bisect_right(streams, seq, key=lambda one: one.first) - 1
        if index >= 0:
            self._last = streams[index].stream
        return self._last


async def read_in_order(connection: Any, after: int, count: int) -> list[Record]:
    """Return records after one, checked from one link that was kept to another, in one snapshot."""
    limit = (count // LINK_EVERY + 2) * LINK_EVERY
    page = [
        row_of(row)
        for row in await connection.fetch(
            f"SELECT {COLUMNS} FROM foretell.events WHERE seq > $1 ORDER BY seq LIMIT $2",
            after,
            limit,
        )
    ]
    streams = {one.stream: one for one in await read_streams(connection, "last > $1", after)}
    if not streams:
        if page:
            raise Damaged("a record after", after)
        return []
    end = page[-1].seq if len(page) == limit else None
    starts, kept = await _read_links(connection, list(streams), after, end)
    first = min(
        starts[number].seq + 1 if number in starts else stream.first
        for number, stream in streams.items()
    )
    rows, owners = await _read_back(connection, streams, first, after)
    by_stream: dict[int, list[StoredRow]] = {number: [] for number in streams}
    for row in [*rows, *page]:
        owner = owners.owner(row.seq)
        if owner in by_stream and row.seq > starts.get(owner, START).seq:
            by_stream[owner].append(row)
    found: list[Record] = []
    for number, own in by_stream.items():
        whole = end is None or streams[number].last <= end
        link = streams[number].link if whole else None
        start = starts.get(number, START)
        found += [
            record
            for record in verified(own, start, kept.get(number, {}), link)
            if record.seq > after
        ]
    return sorted(found)


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
        (1 << 63) - 1 if end is None else end,
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
