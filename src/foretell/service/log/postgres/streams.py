"""The streams: who writes, up to where, and who has stopped.

Everything below the lowest head of all open streams is complete. A newcomer is inserted first, and
only then takes its head above all others: whoever has not seen it yet has read heads that are not
above its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import asyncpg

from foretell.service.log.clock import Clock
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.stream_row import StreamRow
from foretell.service.model.events import SLOTS, moment, stamp

_COLUMNS = "stream, slot, head, first, last, records, link, claims, sealed"


class OpenStream(NamedTuple):
    """An open stream, as it was read."""

    stream: StreamRow
    seen: int
    beat: Any
    server: Any
    """When the server was started that has answered: which server it is."""


def stream_of(row: Any) -> StreamRow:
    """Return a stream from its columns, or raise `Damaged`."""
    stream = StreamRow(*tuple(row)[:9])
    if stream.checksum() != row["checksum"]:
        raise Damaged("the end of the log, stored as", stream.head)
    return stream


async def read_streams(connection: Any, condition: str = "true", *values: Any) -> list[StreamRow]:
    """Return streams, in the order of their numbers."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS}, checksum FROM foretell.streams WHERE {condition} ORDER BY stream",
        *values,
    )
    return [stream_of(row) for row in rows]


async def read_open_streams(connection: Any) -> list[OpenStream]:
    """Return the streams that are not sealed."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS}, checksum, seen, beat, pg_postmaster_start_time() AS server "
        "FROM foretell.streams WHERE NOT sealed"
    )
    return [OpenStream(stream_of(row), row["seen"], row["beat"], row["server"]) for row in rows]


async def read_watermark(connection: Any) -> int:
    """Return the seq below which the log is complete."""
    found = await connection.fetchval("SELECT min(head) FROM foretell.streams WHERE NOT sealed")
    if found is None:
        found = await connection.fetchval("SELECT max(head) FROM foretell.streams")
    return found or 0


async def open_stream(connection: Any, clock: Clock, host: str) -> StreamRow:
    """Open a stream, in a slot that no open stream has."""
    stream = await _insert(connection, clock, host)
    highest = await connection.fetchval("SELECT max(head) FROM foretell.streams")
    head = stamp(max(clock.now(), moment(highest)) + 1)
    opened = stream._replace(head=head, first=head)
    moved = await connection.fetchval(
        "UPDATE foretell.streams SET head = $3, first = $3, checksum = $4, "
        "beat = clock_timestamp() WHERE stream = $1 AND head = $2 AND NOT sealed RETURNING 1",
        stream.stream,
        stream.head,
        head,
        opened.checksum(),
    )
    if moved is None:
        raise LogClosed("the stream of this server was sealed while it was opened: try again")
    return opened


async def _insert(connection: Any, clock: Clock, host: str) -> StreamRow:
    while True:
        number = await connection.fetchval("SELECT max(stream) FROM foretell.streams")
        rows = await connection.fetch("SELECT slot FROM foretell.streams WHERE NOT sealed")
        used = {row["slot"] for row in rows}
        slot = next((slot for slot in range(SLOTS) if slot not in used), None)
        if slot is None:
            raise LogClosed(f"all {SLOTS} streams of the log are open: stop some deciders")
        now = stamp(clock.now())
        stream = StreamRow((number or 0) + 1, slot, now, now)
        try:
            await connection.execute(
                f"INSERT INTO foretell.streams ({_COLUMNS}, checksum, seen, beat, host) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, clock_timestamp(), $11)",
                *stream,
                stream.checksum(),
                host,
            )
        except asyncpg.UniqueViolationError:
            continue
        return stream


async def seal(connection: Any, found: OpenStream) -> bool:
    """Seal a stream that is still as it was read; its owner then opens another."""
    stream = found.stream
    sealed = await connection.fetchval(
        "UPDATE foretell.streams SET sealed = true, checksum = $4 "
        "WHERE stream = $1 AND head = $2 AND beat = $3 AND NOT sealed RETURNING 1",
        stream.stream,
        stream.head,
        found.beat,
        stream._replace(sealed=True).checksum(),
    )
    return sealed is not None


async def close_stream(connection: Any, stream: StreamRow, head: int) -> None:
    """Seal an own stream, with a head at least that high."""
    ended = stream._replace(head=max(stream.head, head), sealed=True)
    await connection.execute(
        "UPDATE foretell.streams SET head = $3, sealed = true, checksum = $4 "
        "WHERE stream = $1 AND head = $2 AND NOT sealed",
        stream.stream,
        stream.head,
        ended.head,
        ended.checksum(),
    )


async def read_own(connection: Any, number: int) -> StreamRow | None:
    """Return an own stream, after whatever still writes it for a connection that was lost.

    None: the server has no such stream, because it has lost the end of the log.
    """
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS}, checksum FROM foretell.streams WHERE stream = $1 FOR UPDATE", number
    )
    return None if row is None else stream_of(row)
