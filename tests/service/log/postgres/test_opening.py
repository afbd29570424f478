"""A database is opened, prepared, or refused in one sentence."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from foretell.errors import ForetellError, InvalidInput, MissingExtra
from foretell.service.log.errors import LogClosed, said_outside
from foretell.service.log.open import open_log, open_reader
from foretell.service.log.postgres import connection as connections
from foretell.service.log.postgres.copies import TABLES
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.postgres.settings import write_settings
from foretell.service.log.protocol import Duplicate
from foretell.service.model.events import Record
from tests.service.log.engines import ADMIN, accepted, decide, feedback, read_all
from tests.service.log.postgres_server import at_database, drop_database, shared_dsn


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture
def empty() -> Iterator[str]:
    """A database in which there is nothing."""
    asyncio.run(execute(shared_dsn(), "CREATE DATABASE foretell_empty_database"))
    dsn = at_database(shared_dsn(), "foretell_empty_database")
    yield dsn
    drop_database(dsn)


def test_a_log_is_made_once_however_many_open_it_at_once(empty: str) -> None:
    async def law() -> None:
        logs = await asyncio.gather(*(PostgresLog.open(empty) for _ in range(5)))
        for log in logs:
            await decide(log)
        assert len(await read_all(logs[0])) == 5
        assert len({log.writer.own.row.slot for log in logs}) == 5
        for log in logs:
            await log.close()

    asyncio.run(law())


def test_a_schema_is_brought_up_to_date_once_and_a_newer_one_is_refused(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = connections.MIGRATIONS

    async def open_and_close(count: int) -> None:
        for log in await asyncio.gather(*(PostgresLog.open(empty) for _ in range(count))):
            await decide(log)
            await log.close()

    asyncio.run(open_and_close(1))
    later = (
        *before,
        "CREATE TABLE foretell.added (n integer); INSERT INTO foretell.added VALUES (1)",
    )
    monkeypatch.setattr(connections, "MIGRATIONS", later)
    with pytest.raises(InvalidInput, match="start the service once"), open_reader(empty):
        pass
    asyncio.run(open_and_close(3))
    monkeypatch.setattr(connections, "MIGRATIONS", before)
    newer = f"has the schema {len(later)}, and this version of foretell knows {len(before)}"
    with pytest.raises(InvalidInput, match=newer):
        asyncio.run(open_and_close(1))
    with pytest.raises(InvalidInput, match=newer), open_reader(empty):
        pass


def test_a_log_from_before_partitions_is_brought_up_to_date_by_two_at_once(empty: str) -> None:
    """Its rows stay, keys are still claimed, and what comes next goes to the month's partition."""

    async def fill() -> list[Record]:
        log = await PostgresLog.open(empty)
        await accepted(log, ADMIN, *(feedback(1, 1, f"e{n}") for n in range(100)))
        records = await read_all(log)
        await log.close()
        return records

    async def go_back() -> None:
        """Put the rows into the tables of the first version."""
        connection = await asyncpg.connect(empty)
        rows = {
            table: await connection.fetch(f"SELECT {columns} FROM foretell.{table}")  # noqa: S608
            for table, columns in TABLES.items()
            if table != "archives"
        }
        await connection.execute("DROP SCHEMA foretell CASCADE")
        await connection.execute(connections.MIGRATIONS[0])
        await connection.execute("ALTER TABLE foretell.streams ALTER beat SET DEFAULT now()")
        await connection.execute("ALTER TABLE foretell.streams ALTER seen SET DEFAULT 0")
        for table, found in rows.items():
            await connection.copy_records_to_table(
                table, schema_name="foretell", columns=TABLES[table].split(", "), records=found
            )
        await write_settings(connection, schema=1)
        await connection.close()

    async def law(records: list[Record]) -> None:
        one, other = await asyncio.gather(PostgresLog.open(empty), PostgresLog.open(empty))
        assert await read_all(one) == records
        (repeated,) = await other.append([feedback(1, 1, "e7")])
        assert isinstance(repeated, Duplicate)
        await accepted(one, feedback(1, 1, "new"))
        assert other.check() == (len(records) + 1, 0, [])
        await one.close()
        await other.close()

    records = asyncio.run(fill())
    asyncio.run(go_back())
    with pytest.raises(InvalidInput, match="start the service once"), open_reader(empty):
        pass
    asyncio.run(law(records))


PARTED_KEYS = """
ALTER TABLE foretell.keys RENAME TO keys_whole;
CREATE TABLE foretell.keys (
  campaign bigint NOT NULL, key bytea NOT NULL, seq bigint NOT NULL,
  CONSTRAINT keys_parted_pkey PRIMARY KEY (campaign, key)
) PARTITION BY HASH (key);
CREATE TABLE foretell.keys_0 PARTITION OF foretell.keys FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE foretell.keys_1 PARTITION OF foretell.keys FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO foretell.keys SELECT * FROM foretell.keys_whole;
DROP TABLE foretell.keys_whole;
ALTER INDEX foretell.keys_parted_pkey RENAME TO keys_pkey;
"""


@pytest.mark.parametrize("version", [3, 4])
def test_a_log_whose_groups_were_written_otherwise_is_brought_up_to_date(
    empty: str, version: int
) -> None:
    """Keys were in partitions, and the function takes other arguments: both are there no more."""

    async def law() -> None:
        log = await PostgresLog.open(empty)
        await accepted(log, *(feedback(1, 1, f"e{n}") for n in range(20)))
        await log.close()
        connection = await asyncpg.connect(empty)
        await connection.execute(PARTED_KEYS)
        await connection.execute("DROP FUNCTION foretell.append")
        await connection.execute(
            "CREATE FUNCTION foretell.append(integer) RETURNS text LANGUAGE sql AS $$SELECT ''$$"
        )
        await write_settings(connection, schema=version)
        log = await PostgresLog.open(empty)
        await accepted(log, feedback(1, 1, "new"))
        for repeated in await log.append([feedback(1, 1, name) for name in ("new", "e7")]):
            assert isinstance(repeated, Duplicate)
        assert log.check() == (21, 0, [])
        await log.close()
        named = "proname = 'append' AND pronamespace = 'foretell'::regnamespace"
        assert await connection.fetchval(f"SELECT count(*) FROM pg_proc WHERE {named}") == 1  # noqa: S608
        named = "relname ~ '^keys_[0-9]' AND relnamespace = 'foretell'::regnamespace"
        assert await connection.fetchval(f"SELECT count(*) FROM pg_class WHERE {named}") == 0  # noqa: S608
        await connection.close()

    asyncio.run(law())


def test_a_database_without_a_log_is_not_read(empty: str) -> None:
    with pytest.raises(InvalidInput, match="there is no log in"), open_reader(empty):
        pass


def refused(dsn: str, **options: Any) -> str:
    with pytest.raises((InvalidInput, LogClosed)) as caught:
        asyncio.run(open_log(dsn, **options))
    return str(caught.value)


def test_what_cannot_be_opened_is_refused_without_naming_a_password() -> None:
    missing = at_database(shared_dsn(), "no_such_database")
    assert 'database "no_such_database" does not exist' in refused(missing)
    nobody = "postgresql://me:secret@127.0.0.1:1/log"
    said = refused(nobody)
    assert "postgresql://me@127.0.0.1:1/log cannot be used now" in said
    assert said.endswith(": check its address, and that the server runs")
    assert "secret" not in said
    assert "is for a database file" in refused(missing, durability="relaxed")


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("mysql://me:secret@db.example/log", "begins with mysql://: write postgresql://user"),
        ("postgresql+asyncpg://me:secret@db.example/log", "begins with postgresql+asyncpg://"),
        ("sqlite:///secret.db", "or the name of a file"),
        ("postgresql://me:secret@127.0.0.1:a/log", "127.0.0.1:a/log cannot be read"),
        ("postgresql://me:secret@[::1/log", "cannot be read"),
        ("postgresql://me:se/secret@127.0.0.1:1/log", "postgresql://… cannot be"),
        ("PostgreSQL://me:secret@127.0.0.1:1/log", "cannot be used now"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_in_a_sentence(
    address: str, sentence: str
) -> None:
    with pytest.raises((InvalidInput, LogClosed)) as caught, open_reader(address):
        pass
    for said in (refused(address), str(caught.value)):
        assert sentence in said
        assert "secret" not in said
        assert "\n" not in said


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (asyncpg.InsufficientPrivilegeError, "let it connect to that database, and make a schema"),
        (asyncpg.InvalidPasswordError, "check the user and the password"),
        (asyncpg.InvalidCatalogNameError, "make it, or check its name"),
        (asyncpg.DiskFullError, "cannot be used now"),
        (asyncpg.UndefinedObjectError, "cannot be used: it says so"),
    ],
)
def test_what_a_server_refuses_is_said_in_one_line(
    error: type[asyncpg.PostgresError], advice: str
) -> None:
    """A server adds lines with details and hints."""
    refusal = error("it says so")
    refusal.detail, refusal.hint = "More of it.", "And more."
    with pytest.raises(ForetellError) as caught, connections.driver_errors_wrapped("postgresql://"):
        raise refusal
    assert "it says so" in str(caught.value)
    assert "it says so" not in said_outside(caught.value)
    assert "postgresql" not in said_outside(caught.value)
    assert advice in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_that_asks_over_the_network_is_not_told_of_the_database() -> None:
    """The words at the start are for the operator; `opening` keeps what others may be told."""
    with pytest.raises(LogClosed) as caught, open_reader("postgresql://me@127.0.0.1:1/log"):
        pass
    assert "me@127.0.0.1" in str(caught.value)
    assert said_outside(caught.value) == "the database server cannot be reached"
    full = connections.plain_reason(asyncpg.DiskFullError("x"))
    assert full == "the disk of the database server is full"


def test_the_speed_of_a_test_database_is_kept(empty: str) -> None:
    async def law() -> None:
        for given in (60.0, None, 60.0):
            log = await PostgresLog.open(empty, time_scale=given)
            assert log.time_scale == 60.0
            await decide(log)
            await log.close()

    asyncio.run(law())
    assert "runs at 60 times the speed" in refused(empty, time_scale=2.0)


def test_a_log_at_the_speed_of_the_clock_is_not_sped_up(empty: str) -> None:
    async def fill() -> None:
        log = await PostgresLog.open(empty)
        await log.close()

    asyncio.run(fill())
    assert "needs a database of its own" in refused(empty, time_scale=2.0)


def test_a_clock_that_is_far_from_the_servers_writes_nothing(empty: str) -> None:
    async def law() -> None:
        log = await PostgresLog.open(empty)
        try:
            log.writer.own.clock.note(0, log.writer.own.clock.clock.boot_clock())
            assert "ahead of that of the database server" in str(log.writer.own.clock.wrong)
        finally:
            await log.close()

    asyncio.run(law())


def test_a_setting_that_was_changed_is_refused(empty: str) -> None:
    async def fill() -> None:
        log = await PostgresLog.open(empty)
        await log.close()
        connection = await asyncpg.connect(empty)
        await write_settings(connection, lease_seconds=2.0)
        await connection.execute("UPDATE foretell.meta SET value = '9' WHERE name = 'schema'")
        await connection.close()
        await PostgresLog.open(empty)

    with pytest.raises(Exception, match="the setting 'schema' does not match its checksum"):
        asyncio.run(fill())


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith("foretell.service.log.postgres"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'foretell\[postgres\]'"):
        asyncio.run(open_log("postgresql://me@db.example/log"))
