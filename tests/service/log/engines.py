"""Every engine of the log, as the conformance suite opens, closes and damages it.

A new engine is one more entry of `ENGINES`.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import apsw
import asyncpg

from foretell.service.log.memory import MemoryLog
from foretell.service.log.postgres.check import check_database as check_log
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.postgres.rows import row_of as postgres_row_of
from foretell.service.log.protocol import Accepted, Draft, Log, Tail
from foretell.service.log.record import StoredRow
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.rows import columns_of, row_of
from foretell.service.model.events import Decided, Feedback, KeyMade, Record
from tests.service.log.postgres_server import QUICK, drop_database, made_database

Edit = Callable[[list[StoredRow]], list[StoredRow]]


class Engine(ABC):
    """One engine, and the place where its log is kept."""

    @abstractmethod
    async def open(self) -> Log:
        """Open the log, with all that was written to it before."""

    @abstractmethod
    def edit(self, change: Edit) -> None:
        """Change the stored records of a log that is closed."""

    @abstractmethod
    def check(self) -> list[str]:
        """Check a log that is closed, as `foretell verify` does."""

    @abstractmethod
    def damage_states(self, change: Callable[[bytes], bytes | None]) -> None:
        """Change the bytes of all states, or with None lose the states."""

    def close(self) -> None:  # noqa: B027  (most engines leave nothing that pytest does not remove)
        """Leave nothing behind."""

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Log]:
        """Open the log for a while."""
        log = await self.open()
        try:
            yield log
        finally:
            await log.close()


class Memory(Engine):
    """The log in memory: its content is edited directly."""

    def __init__(self, folder: Path) -> None:
        self.log = MemoryLog()

    async def open(self) -> Log:
        return self.log

    def edit(self, change: Edit) -> None:
        self.log.content.rows = change(self.log.content.rows)

    def check(self) -> list[str]:
        return self.log.check().damage

    def damage_states(self, change: Callable[[bytes], bytes | None]) -> None:
        states = self.log.content.states
        for key, (state, digest) in list(states.items()):
            body = change(state.body)
            if body is None:
                del states[key]
            else:
                states[key] = (state._replace(body=body), digest)


class Sqlite(Engine):
    """The log in SQLite: its tables are edited with another connection."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "log.db")

    async def open(self) -> Log:
        return SqliteLog(self.path)

    def edit(self, change: Edit) -> None:
        with closing(apsw.Connection(self.path)) as connection, connection:
            before = [row_of(row) for row in connection.execute("SELECT * FROM events")]
            connection.execute("DELETE FROM events")
            for row in change(before):
                connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?)", columns_of(row))

    def check(self) -> list[str]:
        return check_database(self.path).damage

    def damage_states(self, change: Callable[[bytes], bytes | None]) -> None:
        with closing(apsw.Connection(self.path)) as connection, connection:
            for campaign, body in list(connection.execute("SELECT campaign, body FROM states")):
                if (changed := change(body)) is None:
                    connection.execute("DELETE FROM states WHERE campaign = ?", (campaign,))
                else:
                    connection.execute("UPDATE states SET body = ?", (changed,))


class Postgres(Engine):
    """The log in PostgreSQL: its tables are edited with another connection."""

    def __init__(self, folder: Path) -> None:
        self.dsn = made_database(**QUICK)

    async def open(self) -> Log:
        return await PostgresLog.open(self.dsn)

    def edit(self, change: Edit) -> None:
        async def work(connection: Any) -> None:
            rows = await connection.fetch("SELECT * FROM foretell.events ORDER BY seq")
            await connection.execute("DELETE FROM foretell.events")
            for row in change([postgres_row_of(row) for row in rows]):
                await connection.execute(
                    "INSERT INTO foretell.events VALUES ($1, $2, $3, $4, $5)", *columns_of(row)
                )

        self.alter(work)

    def check(self) -> list[str]:
        return check_log(self.dsn).damage

    def damage_states(self, change: Callable[[bytes], bytes | None]) -> None:
        async def work(connection: Any) -> None:
            for campaign, body in await connection.fetch(
                "SELECT campaign, body FROM foretell.states"
            ):
                if (changed := change(body)) is None:
                    await connection.execute(
                        "DELETE FROM foretell.states WHERE campaign = $1", campaign
                    )
                else:
                    await connection.execute("UPDATE foretell.states SET body = $1", changed)

        self.alter(work)

    def alter(self, work: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
        """Change something in the database, in a transaction."""

        async def connected() -> None:
            connection = await asyncpg.connect(self.dsn)
            try:
                async with connection.transaction():
                    await work(connection)
            finally:
                await connection.close()

        asyncio.run(connected())

    def close(self) -> None:
        drop_database(self.dsn)


def run(engine: Engine, law: Callable[[Log], Any]) -> Any:
    """Open the log, try a law on it, and close it."""

    async def opened() -> Any:
        async with engine.opened() as log:
            return await law(log)

    return asyncio.run(opened())


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "memory": Memory,
    "sqlite": Sqlite,
    "postgres": Postgres,
}

ADMIN = Draft(0, KeyMade("k", "first", ("admin",), b"digest"))


def decided(nonce: int = 0, action: int = 0) -> Decided:
    """Return some decision."""
    return Decided(1, action, 0.5, 0, 2, nonce, 0)


def observed(event_id: str, value: float = 1.0) -> Feedback:
    """Return some feedback."""
    return Feedback(1, event_id, 0, 0, value)


def feedback(campaign: int, decision: int, event_id: str, value: float = 1.0) -> Draft:
    """Draft feedback that claims its id."""
    claim = (campaign, b"e:" + event_id.encode())
    return Draft(campaign, observed(event_id, value), decision, (claim,))


async def accepted(log: Log, *drafts: Draft) -> list[Record]:
    """Append drafts that must all be written."""
    written = await log.append(drafts)
    assert all(isinstance(one, Accepted) for one in written), written
    return [one.record for one in written if isinstance(one, Accepted)]


async def decide(log: Log, campaign: int = 1, nonce: int = 0) -> int:
    """Append a decision; return its number."""
    return (await accepted(log, Draft(campaign, decided(nonce))))[0].seq


async def read_all(log: Log, campaign: int | None = None) -> list[Record]:
    """Return all records, a few at a time."""
    found: list[Record] = []
    while some := await log.records(found[-1].seq if found else 0, 1 << 62, 100, campaign):
        found += some
    return found


async def tail_until(
    log: Log, after: int, enough: Callable[[list[Record], int], bool], seconds: float = 20.0
) -> list[Tail]:
    """Follow the log until there is enough."""
    items: list[Tail] = []

    async def follow() -> None:
        async with aclosing(log.tail(after)) as tail:  # type: ignore[type-var]
            async for item in tail:
                items.append(item)
                if enough([record for one in items for record in one.records], item.upto):
                    return

    await asyncio.wait_for(follow(), seconds)
    return items


async def head_above(log: Log, seq: int) -> int:
    """Wait until the head is above a seq: that is soon where others write the log too."""
    for _ in range(4000):
        if log.head() > seq:
            return log.head()
        await asyncio.sleep(0.005)
    raise AssertionError(log.head())


async def open_again(log: Log) -> None:
    """Wait until a log that failed is open again."""
    for _ in range(4000):
        if log.closed is None:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(log.closed)


def between(row: StoredRow) -> int:
    """Return a seq just after that of a row, in a slot that nobody has."""
    return row.seq + 1
