"""Copies of a log: a file of all rows, written from one snapshot, and put in place in one piece.

A copy is a header, blocks of rows of one table after the other, and a digest of all before it; each
is MessagePack, with its length in front.
"""

from __future__ import annotations

import asyncio
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import asyncpg
import msgspec

from foretell.errors import DamagedFile, InvalidInput
from foretell.files import write_whole
from foretell.protocol.fields import POSTGRES_COPY
from foretell.service.log.moving import (
    MOVED_TABLES,
    LogTarget,
    MovedTable,
    Row,
    refuse_other_kind,
)
from foretell.service.log.postgres.check import Checking
from foretell.service.log.postgres.connection import (
    check_schema,
    close_connection,
    connect,
    driver_errors_wrapped,
    prepare,
)
from foretell.service.log.postgres.rows import COLUMNS, row_of
from foretell.service.log.postgres.streams import read_streams
from foretell.service.log.protocol import refuse_unusable
from foretell.service.log.record import record_of
from foretell.service.log.stream_row import StreamRow

TABLES = {
    "streams": "stream, slot, head, first, last, records, link, claims, sealed, checksum, host",
    "events": COLUMNS,
    "links": "stream, seq, number, link",
    "ranks": "campaign, seq, rank",
    "keys": "campaign, key, seq",
    "units": "campaign, unit, n, action, seq",
    "personal": "seq, campaign, unit, context, checksum",
    "states": "campaign, version, position, body, digest",
    "counters": "campaign, name, count",
    "key_uses": "id, last_used",
    "archives": "lower, upper, campaigns",
}
ROWS_PER_BLOCK = 1000
_LENGTH = struct.Struct(">I")
_KIND = "foretell copy 1"
_RANKS = MovedTable("ranks", ("campaign", "seq"), ("rank",))


def back_up(dsn: str, target: str) -> None:
    """Write a consistent copy of a log to a file; deciders may be writing the log meanwhile."""
    if Path(target).exists():
        raise InvalidInput(f"{target!r} exists already: choose another name for the copy")
    with asyncio.Runner() as runner, driver_errors_wrapped(dsn):
        connection = runner.run(connect(dsn))
        try:
            settings = runner.run(check_schema(connection, dsn))
            runner.run(connection.transaction(isolation="repeatable_read", readonly=True).start())
            write_whole(
                target, lambda file: _write(file, runner, connection, settings), private=True
            )
        finally:
            runner.run(close_connection(connection))


def _write(
    file: IO[bytes], runner: asyncio.Runner, connection: Any, settings: dict[str, Any]
) -> None:
    digest = hashlib.blake2b(digest_size=16)

    def put(block: Any) -> None:
        packed = msgspec.msgpack.encode(block)
        digest.update(packed)
        file.write(_LENGTH.pack(len(packed)) + packed)

    put((_KIND, settings.get("time_scale")))
    for table, columns in TABLES.items():
        cursor = runner.run(_open_cursor(connection, f"SELECT {columns} FROM foretell.{table}"))
        while rows := runner.run(cursor.fetch(ROWS_PER_BLOCK)):
            put((table, [tuple(row) for row in rows]))
    file.write(_LENGTH.pack(0) + digest.digest())


async def _open_cursor(connection: Any, sql: str) -> Any:
    return await connection.cursor(sql)


def read_copy(copy: str) -> tuple[float | None, Iterator[tuple[str, list[Any]]]]:
    """Return the speed of a copy's clock and its rows, table by table.

    Raises `DamagedFile`, before there is any row, for what is no copy or not whole.
    """
    refuse_other_kind(copy, POSTGRES_COPY)
    for _ in _blocks(copy):
        pass  # at the end its digest is compared
    blocks = _blocks(copy)
    kind, scale = next(blocks, (None, None))
    if kind != _KIND:
        raise _no_copy(copy)
    return scale, blocks


def _blocks(copy: str) -> Iterator[Any]:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with Path(copy).open("rb") as file:
            while length := _LENGTH.unpack(file.read(_LENGTH.size))[0]:
                packed = file.read(length)
                digest.update(packed)
                yield msgspec.msgpack.decode(packed)
            if file.read() == digest.digest():
                return
    except (OSError, struct.error, msgspec.MsgspecError):
        pass
    raise _no_copy(copy)


def _no_copy(copy: str) -> DamagedFile:
    return DamagedFile(f"{copy!r} is no copy of a log in PostgreSQL, or is damaged")


def put_in_place(dsn: str, copy: str, own: int | None = None) -> None:
    """Replace all that a log holds by a copy, once that is checked; only `own` may be open.

    In a database without a log, one is made.
    """
    scale, blocks = read_copy(copy)
    with asyncio.Runner() as runner, driver_errors_wrapped(dsn):
        connection = runner.run(connect(dsn))
        try:
            transaction = connection.transaction()
            runner.run(transaction.start())
            try:
                runner.run(_prepare_log(connection, dsn, copy, scale))
                runner.run(_replace(connection, copy, own, blocks))
                found = Checking(runner, connection).run()
                refuse_unusable(found, runner.run(_about_server(connection)))
            except BaseException:
                runner.run(transaction.rollback())
                raise
            runner.run(transaction.commit())
        finally:
            runner.run(close_connection(connection))


async def _prepare_log(connection: Any, dsn: str, copy: str, scale: float | None) -> None:
    """Make a log where there is none; refuse one whose clock has another speed than the copy's."""
    if not await connection.fetchval("SELECT to_regclass('foretell.meta') IS NOT NULL"):
        await prepare(connection, dsn)
    settings = await check_schema(connection, dsn)
    if settings.get("time_scale") != scale:
        raise InvalidInput(
            f"the copy {copy!r} runs at another speed of the clock than the log: "
            f"restore it to a database of its own, which was served once at the speed of the copy"
        )


async def _replace(
    connection: Any, copy: str, own: int | None, blocks: Iterator[tuple[str, list[Any]]]
) -> None:
    await connection.execute("LOCK TABLE foretell.streams IN EXCLUSIVE MODE")
    others = [one for one in await read_streams(connection, "NOT sealed") if one.stream != own]
    if others:
        raise InvalidInput(
            f"{len(others)} other {'server writes' if len(others) == 1 else 'servers write'} this "
            f"log: stop {'it' if len(others) == 1 else 'them'}, and then restore the copy"
        )
    replaced = [f"foretell.{table}" for table in (*TABLES, "live_states")]
    # nothing of the log before may be added: this server may be keeping its ranks or states now
    await connection.execute(f"LOCK TABLE {', '.join(replaced)} IN EXCLUSIVE MODE")
    for table in replaced:
        await connection.execute(f"DELETE FROM {table}")
    for table, rows in blocks:
        await _insert(connection, copy, table, rows)
    for stream in await read_streams(connection, "NOT sealed"):
        await connection.execute(
            "UPDATE foretell.streams SET sealed = true, checksum = $2 WHERE stream = $1",
            stream.stream,
            stream._replace(sealed=True).checksum(),
        )


async def _insert(connection: Any, copy: str, table: str, rows: list[Any]) -> None:
    columns = TABLES[table]
    values = ", ".join(f"${number}" for number in range(1, columns.count(",") + 2))
    if table == "streams":
        columns, values = f"{columns}, seen, beat", f"{values}, 0, clock_timestamp()"
    try:
        await connection.executemany(
            f"INSERT INTO foretell.{table} ({columns}) VALUES ({values})", rows
        )
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise DamagedFile(f"{copy!r} is damaged: {error}") from None


async def _about_server(connection: Any) -> list[Any]:
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM foretell.events WHERE campaign = 0 AND decision = 0 ORDER BY seq"
    )
    return [record_of(row_of(row)) for row in rows]


def load_copy(copy: str, target: LogTarget) -> None:
    """Fill a database without a log with the rows of a copy, so that they can be checked there."""
    scale, blocks = read_copy(copy)
    target.begin({} if scale is None else {"time_scale": scale})
    tables = {table.name: table for table in MOVED_TABLES}
    others: dict[str, list[Row]] = {"streams": [], "ranks": [], "archives": []}
    for name, rows in blocks:
        if name in tables:
            target.change(tables[name], [tuple(row) for row in rows], [])
        else:
            others[name] += [tuple(row) for row in rows]
        if others["archives"]:
            raise InvalidInput(
                f"a part of the log of which {copy!r} is a copy is archived, so it is checked in "
                f"PostgreSQL alone: restore it to an empty database, and verify that"
            )
    streams = sorted((StreamRow(*row[:9]), *row[9:]) for row in others["streams"])
    for stream, checksum, _ in streams:
        if stream.checksum() != checksum:
            raise DamagedFile(
                f"{copy!r} is damaged: the end of its stream {stream.stream} is wrong"
            )
    if streams:
        target.complete([(stream._replace(sealed=True), host) for stream, _, host in streams])
    for campaign, seq, rank in others["ranks"]:
        if target.page(_RANKS, (campaign, seq - 1), (campaign, seq)) != [(campaign, seq, rank)]:
            raise DamagedFile(
                f"{copy!r} is damaged: the rank of decision {seq} of campaign {campaign} is wrong"
            )
