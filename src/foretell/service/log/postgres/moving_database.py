"""A database of PostgreSQL as one side of a log that moves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Self, TypeVar

from foretell.errors import InvalidInput
from foretell.service.database_address import without_password
from foretell.service.log.moving import (
    COPY_IDENTITY,
    COPY_OF,
    EVENTS,
    MOVED_TO,
    ROWS_PER_PAGE,
    MovedTable,
    Row,
)
from foretell.service.log.postgres.archived_ranges import read_archives
from foretell.service.log.postgres.check import check_database
from foretell.service.log.postgres.connection import (
    PASSING,
    check_schema,
    close_connection,
    connect,
    driver_errors_wrapped,
    prepare,
)
from foretell.service.log.postgres.settings import read_settings, timing_of, write_settings
from foretell.service.log.postgres.streams import (
    OpenStream,
    read_open_streams,
    read_streams,
    read_watermark,
    seal,
)
from foretell.service.log.protocol import LogCheck
from foretell.service.log.stream_row import StreamRow

T = TypeVar("T")
_STREAM = ", ".join(StreamRow._fields)
COPY_LOCK = 0x636F7079
"""The advisory lock of a copy: two that write one database would be in each other's way."""
_TEXTS = {"version", "name", "id"}
"""Columns that are ordered byte by byte, as in every engine."""


class _Database:
    """What both sides have."""

    def __init__(self, dsn: str) -> None:
        """Connect to a database."""
        self.place = without_password(dsn)
        self._dsn = dsn
        self._below = (1 << 63) - 1
        """All records below this seq are there."""
        self._runner = asyncio.Runner()
        self._connection: Any = None
        try:
            self._connection = self._run(connect(dsn))
            self._prepare()
        except BaseException:
            self.__exit__()
            raise

    def _prepare(self) -> None:
        """Make sure that there is what is needed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            with suppress(*PASSING):
                self._runner.run(close_connection(self._connection))
        self._runner.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        with driver_errors_wrapped(self._dsn):
            return self._runner.run(work)

    def settings(self) -> dict[str, Any]:
        """Return the settings."""
        return self._run(read_settings(self._connection))

    def page(self, table: MovedTable, after: Row | None, upto: Row | None) -> list[Row]:
        """Return rows by their keys, in order."""
        key = ", ".join(f'{name} COLLATE "C"' if name in _TEXTS else name for name in table.key)
        width = len(table.key)
        values = [*(after or ()), *(upto or ())]
        marks = [f"${number}" for number in range(1, len(values) + 1)]
        bounds = [f"({key}) > ({', '.join(marks[:width])})"] * (after is not None)
        bounds += [f"({key}) <= ({', '.join(marks[-width:])})"] * (upto is not None)
        if table is EVENTS:
            bounds.append(f"seq < {self._below}")
        rows = self._run(
            self._connection.fetch(
                f"SELECT {', '.join(table.columns)} FROM foretell.{table.name} "
                f"WHERE {' AND '.join(bounds) or 'true'} ORDER BY {key} "
                f"LIMIT {ROWS_PER_PAGE if upto is None else 'ALL'}",
                *values,
            )
        )
        return [tuple(row) for row in rows]

    def streams(self) -> list[tuple[StreamRow, str]]:
        """Return all streams as sealed ones, each with the host that wrote it."""
        return self._run(self._streams())

    async def _streams(self) -> list[tuple[StreamRow, str]]:
        streams = await read_streams(self._connection)
        hosts = await self._connection.fetch("SELECT host FROM foretell.streams ORDER BY stream")
        return [(one, row["host"]) for one, row in zip(streams, hosts, strict=True)]

    def check(self) -> LogCheck:
        """Check all that is stored."""
        return check_database(self._dsn)


class DatabaseSource(_Database):
    """A database from which a log moves."""

    def _prepare(self) -> None:
        self._run(check_schema(self._connection, self._dsn))
        self._guard: Any = None
        if self._run(read_archives(self._connection)):
            raise InvalidInput(
                f"a part of the log in {self.place} is archived, and a copy would lack it: "
                f"move such a log with the tools of PostgreSQL"
            )

    def __exit__(self, *details: object) -> None:
        if self._connection is not None and self._guard is not None:
            with suppress(*PASSING):
                self._runner.run(close_connection(self._guard))
        super().__exit__(*details)

    def freeze(self) -> str | None:
        """Let nobody write until this ends; return why that cannot be, if somebody writes now."""
        return self._run(self._freeze())

    async def _freeze(self) -> str | None:
        writing = await self._seal_stopped()
        if not writing:
            self._guard = await connect(self._dsn)
            await self._guard.execute(
                "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; "
                "LOCK TABLE foretell.streams IN SHARE ROW EXCLUSIVE MODE"
            )
            writing = await read_open_streams(self._guard)
            if not writing:
                return None
            await self._guard.execute("ROLLBACK")
        self._below = await read_watermark(self._connection)
        return f"{len(writing)} server{'s write' if len(writing) > 1 else ' writes'} it"

    async def _seal_stopped(self) -> list[OpenStream]:
        """Seal the streams of those that were killed; return those of the living."""
        before = {one.stream.stream: one for one in await read_open_streams(self._connection)}
        if before:
            settings = await read_settings(self._connection)
            await asyncio.sleep(timing_of(settings).lease_seconds)
        return [
            found
            for found in await read_open_streams(self._connection)
            if before.get(found.stream.stream) != found or not await seal(self._connection, found)
        ]

    def seal(self, target: str) -> None:
        """Let nobody write ever again, and keep where the log went."""
        self._run(self._seal(target))

    async def _seal(self, target: str) -> None:
        await write_settings(self._guard, **{MOVED_TO: target})
        await self._guard.execute("COMMIT")


class DatabaseTarget(_Database):
    """A database to which a log moves."""

    def _prepare(self) -> None:
        if not self._run(self._connection.fetchval("SELECT pg_try_advisory_lock($1)", COPY_LOCK)):
            raise InvalidInput(f"another copy writes to {self.place}: wait for it, or stop it")
        self._run(prepare(self._connection, self._dsn))

    def begin(self, settings: dict[str, Any]) -> None:
        """Keep settings: from now on it holds an unfinished copy."""
        self._run(self._begin(settings))

    async def _begin(self, settings: dict[str, Any]) -> None:
        async with self._connection.transaction():
            await self._connection.execute("LOCK TABLE foretell.streams IN EXCLUSIVE MODE")
            if await read_streams(self._connection):
                raise InvalidInput(
                    f"servers have used {self.place}: a copy needs a database of its own"
                )
            await write_settings(self._connection, **settings)

    def copied(self) -> tuple[int, int]:
        """Return how many records were copied, and the seq of the last one, 0 before the first."""
        count, last = self._run(
            self._connection.fetchrow("SELECT count(*), max(seq) FROM foretell.events")
        )
        return count, last or 0

    def change(self, table: MovedTable, add: list[Row], remove: list[Row]) -> None:
        """Remove rows and add others, all or nothing."""
        self._run(self._change(table, add, remove))

    async def _change(self, table: MovedTable, add: list[Row], remove: list[Row]) -> None:
        matches = " AND ".join(f"{name} = ${number}" for number, name in enumerate(table.key, 1))
        async with self._connection.transaction():
            await self._connection.executemany(
                f"DELETE FROM foretell.{table.name} WHERE {matches}",
                [table.key_of(row) for row in remove],
            )
            await self._connection.copy_records_to_table(
                table.name, schema_name="foretell", columns=table.columns, records=add
            )

    def complete(self, streams: list[tuple[StreamRow, str]]) -> None:
        """Store the streams, and the ranks of all decisions."""
        self._run(self._complete(streams))

    async def _complete(self, streams: list[tuple[StreamRow, str]]) -> None:
        async with self._connection.transaction():
            await self._connection.execute("DELETE FROM foretell.streams")
            await self._connection.executemany(
                f"INSERT INTO foretell.streams ({_STREAM}, checksum, seen, beat, host) "
                "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, clock_timestamp(), $11)",
                [(*stream, stream.checksum(), host) for stream, host in streams],
            )
            await self._connection.execute(
                "SELECT foretell.keep_ranks($1)", max(stream.head for stream, _ in streams)
            )

    def open_up(self) -> None:
        """Let it be served."""
        self._run(
            self._connection.execute(
                "DELETE FROM foretell.meta WHERE name IN ($1, $2)", COPY_OF, COPY_IDENTITY
            )
        )
