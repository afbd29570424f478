"""Connections that read: a few in the event loop of the log, or in that of a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Self, TypeVar

import asyncpg

from foretell.service.log.postgres.connection import (
    connection_options,
    driver_errors_wrapped,
    opening,
)

MOST_READERS = 4
T = TypeVar("T")


class Pool:
    """Connections that read; each is used by one statement, or one snapshot, at a time."""

    def __init__(self, dsn: str, pool: Any) -> None:
        """Lend the connections of the driver's pool; `open` makes one."""
        self.dsn = dsn
        self._pool = pool

    @classmethod
    async def open(cls, dsn: str) -> Self:
        """Make a pool that connects when a connection is needed."""
        with opening(dsn):
            pool = await asyncpg.create_pool(
                dsn,
                min_size=0,
                max_size=MOST_READERS,
                reset=_leave_as_it_is,
                **await connection_options(dsn),
            )
        return cls(dsn, pool)

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Any]:
        """Lend a connection; what goes wrong with it is raised as one of our errors."""
        with driver_errors_wrapped(self.dsn):
            async with self._pool.acquire() as connection:
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Any]:
        """Lend a connection on which every statement sees the same moment."""
        async with (
            self.connection() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield connection

    async def fetch(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a query."""
        async with self.connection() as connection:
            return await connection.fetch(sql, *values)

    async def fetchrow(self, sql: str, *values: Any) -> Any:
        """Return the first row of a query, or None."""
        async with self.connection() as connection:
            return await connection.fetchrow(sql, *values)

    async def close(self) -> None:
        """Close all connections."""
        self._pool.terminate()
        await asyncio.sleep(0)


async def _leave_as_it_is(_: Any) -> None:
    """Reset nothing: nobody changes a connection."""


class LoopThread:
    """A thread with an event loop of its own, for those that cannot use that of the log."""

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="log reader", daemon=True
        )
        self._thread.start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Let something be done in the thread."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def loop_thread() -> Iterator[LoopThread]:
    """Start a thread with an event loop for a while."""
    thread = LoopThread()
    try:
        yield thread
    finally:
        thread.stop()
