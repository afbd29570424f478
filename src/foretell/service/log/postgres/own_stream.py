"""The stream of this process, and the connection on which it is written.

If a connection is lost while a statement is under way, the head of the stream says whether it was
carried out: it is moved by every statement, and by nobody else. A stream that others have sealed is
left, and so is one whose last records a server has lost that took the place of another: nobody
writes it any more, and another is opened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

import asyncpg

from foretell.service.log.chain import Chain
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.connection import (
    AWAY,
    PASSING,
    close_connection,
    connect_again,
    driver_errors_wrapped,
)
from foretell.service.log.postgres.group import APPEND, Group, head_arguments
from foretell.service.log.postgres.log_clock import WALL_CLOCK, ServerClock
from foretell.service.log.postgres.settings import StreamTiming
from foretell.service.log.postgres.streams import (
    close_stream,
    open_stream,
    read_own,
)
from foretell.service.log.stamps import Stamps
from foretell.service.log.stream_row import StreamRow

logger = logging.getLogger("foretell.service")

RETRY_SECONDS = 0.05
"""Seconds between two attempts to connect while a request waits."""
RESOLVE_SECONDS = 1.0
"""Seconds for which requests wait for a connection that was lost."""
TOO_EARLY_SECONDS = 0.01
"""Seconds after which a statement is sent again whose stamps the clock has not reached."""
CLAIMS = ("keys", "units")
"""The tables in which what was claimed before is found a second time."""
_MOVE = (
    "SELECT foretell.move_head($1, $2, $3, $4, $5, $6, $7, $8, $9, 0) AS moved, "
    f"{WALL_CLOCK} AS wall"
)


class Sealed(Exception):
    """Others have sealed the stream: this process was out of contact."""


class ClaimedBefore(Exception):
    """Nothing was written: something in the group was claimed before."""


class OwnStream:
    """What this process writes; one statement is under way at a time."""

    def __init__(self, dsn: str, clock: ServerClock, timing: StreamTiming, host: str) -> None:
        """Write to a database, once `start` has opened a stream."""
        self.clock = clock
        self.stamps = Stamps(clock.clock, 0)
        self.contact = monotonic()
        """When the last statement was sent that was answered."""
        self.seen = 0
        """Up to where this process has folded the log."""
        self.retries = 0
        self.on_commit: Callable[[], None] = lambda: None
        self.connection: Any = None
        self.row: StreamRow
        self._chain = Chain()
        self._dsn = dsn
        self._timing = timing
        self._host = host
        self._under_way: Group | None = None

    async def start(self, connection: Any) -> None:
        """Open a stream on a connection."""
        self.connection = connection
        with driver_errors_wrapped(self._dsn):
            await self._open()

    async def close(self, head: int) -> None:
        """Seal the stream, with a head at least that high, and close the connection."""
        if self.connection is not None:
            self.stamps.advance(head)
            with suppress(*PASSING, asyncpg.PostgresError):
                await close_stream(self.connection, self.row, self.stamps.now())
            await close_connection(self.connection)

    def drop_connection(self) -> None:
        """Let go of a connection that is of no use."""
        if self.connection is not None:
            self.connection.terminate()
            self.connection = None

    async def move_head(self, head: int, claims: int | None = None) -> bool:
        """Move the head of the stream, and its sum of claims where that changes.

        Returns whether it was moved: not while it is too far ahead of the clock.
        """
        after = self.row._replace(
            head=max(head, self.row.head), claims=self.row.claims if claims is None else claims
        )
        sent, began = monotonic(), self.clock.clock.boot_clock()
        async with asyncio.timeout(self._timing.lease_seconds):
            row = await self.connection.fetchrow(_MOVE, *head_arguments(self.row, after), self.seen)
        if row["moved"] == "sealed":
            raise Sealed
        self.contact = sent
        self.clock.note(row["wall"], began)
        if row["moved"] != "moved":
            return False
        self.row = after
        self.on_commit()
        return True

    def prepare(self, group_of: Callable[[StreamRow, Chain], Group]) -> Group:
        """Make a group that goes on at the end of the stream."""
        return group_of(self.row, self._chain)

    async def send(self, group: Group) -> None:
        """Write a group; raise `ClaimedBefore` where something in it was claimed before."""
        self._under_way = group
        lock_milliseconds = max(1, round(self._timing.lease_seconds * 800))
        while True:
            sent = monotonic()
            try:
                async with asyncio.timeout(self._timing.lease_seconds):
                    moved = await self.connection.fetchval(
                        APPEND, *group.arguments(self.seen, lock_milliseconds)
                    )
            except (asyncpg.DeadlockDetectedError, asyncpg.SerializationError):
                self.retries += 1
                continue
            except AWAY as error:
                self.retries += 1
                if await self._resolve(group, error):
                    break
                continue
            except asyncpg.UniqueViolationError as error:
                if error.table_name in CLAIMS:
                    raise ClaimedBefore from None
                raise
            self.contact = sent
            if moved == "sealed":
                raise Sealed
            if moved == "moved":
                break
            await asyncio.sleep(TOO_EARLY_SECONDS)
        self.row, self._chain, self._under_way = group.stream, group.chain, None
        self.on_commit()

    async def _resolve(self, group: Group, error: BaseException) -> bool:
        """Connect again, and return whether a group was written."""
        deadline = monotonic() + RESOLVE_SECONDS
        self.drop_connection()
        while True:
            try:
                await self.reconnect()
                break
            except LogClosed:
                if monotonic() > deadline:
                    raise
                await asyncio.sleep(RETRY_SECONDS)
        logger.warning("the connection to the database was lost (%s), and is back", error)
        if self.row == group.stream:
            return True
        if self.row == group.before:
            return False
        raise Sealed

    async def reconnect(self) -> None:
        """Connect again, find out where the stream ends, and open another if it is of no use."""
        connection = await connect_again(self._dsn)
        try:
            with driver_errors_wrapped(self._dsn):
                found = await read_own(connection, self.row.stream)
                self.connection = connection
                group = self._under_way
                ends = {self.row.link, self.row.link if group is None else group.stream.link}
                if found is None or found.sealed or found.link not in ends:
                    await self._open()
                    return
                if group is not None and found.link == group.stream.link:
                    self._chain = group.chain
                self.row = found
        except BaseException:
            self.connection = None
            connection.terminate()
            raise

    async def open_another(self) -> None:
        """Leave the stream, which is not there any more, and open another."""
        with driver_errors_wrapped(self._dsn):
            await self._open()
        self.on_commit()

    async def _open(self) -> None:
        self.row = await open_stream(self.connection, self.clock.clock, self._host)
        self._chain, self._under_way = Chain(), None
        self.stamps.settle_all()
        self.stamps.slot = self.row.slot
        self.stamps.advance(self.row.head)
        self.contact = monotonic()
