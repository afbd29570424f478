"""Old partitions of the log: what is in them, and how they are detached."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from foretell.service.log.archives import Partition
from foretell.service.log.postgres.archived_ranges import is_archived, read_archives
from foretell.service.log.postgres.connection import (
    check_schema,
    close_connection,
    connect,
    driver_errors_wrapped,
)
from foretell.service.log.postgres.rows import COLUMNS, row_of
from foretell.service.log.postgres.side_tables import save_state
from foretell.service.log.protocol import SavedState
from foretell.service.log.record import record_of
from foretell.service.model.events import SERVER, Record

LOCK_MILLISECONDS = 5000
"""How long others may be held up at most, while a partition is sorted out or detached."""


class PartitionArchiver:
    """Takes old partitions out of a log, on a connection of its own."""

    def __init__(self, connection: Any, dsn: str) -> None:
        """Use a connection; `open_archiver` makes one."""
        self._connection = connection
        self._dsn = dsn

    async def partitions(self, before: int) -> list[Partition]:
        """Return the partitions that end before a seq, in order.

        Months that are over, and whose partition was not made in time, get one now.
        """
        with driver_errors_wrapped(self._dsn):
            await self._sort_out(before)
            rows = await self._connection.fetch(
                "SELECT name, lower, upper FROM foretell.partitions WHERE upper <= $1 "
                "ORDER BY lower",
                before,
            )
        return [Partition(*row) for row in rows]

    async def _sort_out(self, before: int) -> None:
        archives = await read_archives(self._connection)
        rows = await self._connection.fetch(
            "SELECT DISTINCT foretell.month_of(seq, 0) AS low FROM foretell.events_rest "
            "WHERE foretell.month_of(seq, 1) <= $1",
            before,
        )
        for row in rows:
            if not is_archived(row["low"], archives):
                async with self._changing():
                    await self._connection.execute("SELECT foretell.sort_out($1)", row["low"])

    async def campaigns_in(self, partition: Partition) -> list[int]:
        """Return the campaigns that have decisions or feedback in a partition."""
        with driver_errors_wrapped(self._dsn):
            rows = await self._connection.fetch(
                f'SELECT DISTINCT campaign FROM foretell."{partition.name}" '
                "WHERE decision IS NULL OR decision > 0 ORDER BY campaign"
            )
        return [row["campaign"] for row in rows]

    async def records_in(self, partition: Partition, after: int, count: int) -> list[Record]:
        """Return the next records of a partition after a seq, each checked.

        Not those about the server, its keys and secrets: they stay in the log, and only there.
        """
        with driver_errors_wrapped(self._dsn):
            rows = await self._connection.fetch(
                f'SELECT {COLUMNS} FROM foretell."{partition.name}" WHERE seq > $1 '
                "AND campaign <> $3 ORDER BY seq LIMIT $2",
                after,
                count,
                SERVER,
            )
        return [record_of(row_of(row)) for row in rows]

    async def save_state(self, campaign: int, state: SavedState) -> None:
        """Keep a state that stands below the head."""
        with driver_errors_wrapped(self._dsn):
            server = await self._connection.fetchval("SELECT pg_postmaster_start_time()")
            await save_state(self._connection, campaign, state, server)

    async def detach(self, partition: Partition, campaigns: Sequence[int]) -> None:
        """Take a partition out of the log, but for what is about no decision."""
        with driver_errors_wrapped(self._dsn):
            async with self._changing():
                await self._connection.execute(
                    "SELECT foretell.detach($1, $2)", partition.name, list(campaigns)
                )

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        async with self._connection.transaction():
            await self._connection.execute(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}")
            yield


@asynccontextmanager
async def open_partition_archiver(dsn: str) -> AsyncIterator[PartitionArchiver]:
    """Connect to the log in a database."""
    connection = await connect(dsn)
    try:
        await check_schema(connection, dsn)
        yield PartitionArchiver(connection, dsn)
    finally:
        await close_connection(connection)
