"""A log moves between a file and PostgreSQL: all of it, once, and its source is sealed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from foretell.errors import DamagedFile, InvalidInput
from foretell.service.log.errors import Damaged
from foretell.service.log.moving import MOVED_TABLES, Moved
from foretell.service.log.open import copy_log, open_log, open_reader
from foretell.service.log.protocol import Draft, Duplicate, Log, LogReader, SavedState
from foretell.service.model.events import Record
from tests.service.log.engines import ADMIN, accepted, decided, feedback
from tests.service.log.postgres_server import QUICK, drop_database, made_database

KILLED = """
import os, signal, sys
from foretell.service.log import moving
moving.ROWS_PER_PAGE = 100  # before those are imported that read it
from foretell.service.log import open as opening
from foretell.service.log.{module} import {side}
calls = 0
plain = {side}.{method}
def killed(self, *values):
    global calls
    calls += 1
    if calls == {call}:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(self, *values)
{side}.{method} = killed
opening.copy_log(sys.argv[1], sys.argv[2])
"""
FILE, DATABASE = "sqlite.moving_file", "postgres.moving_database"


@pytest.fixture
def database() -> Iterator[Callable[[], str]]:
    """Makes databases of PostgreSQL without a log."""
    made: list[str] = []

    def make() -> str:
        made.append(made_database(**QUICK))
        return made[-1]

    yield make
    for dsn in made:
        drop_database(dsn)


async def fill(log: Log, count: int = 300, campaign: int = 1) -> None:
    """Write decisions, feedback, units, contexts, a state and what is counted."""
    for start in range(0, count, 50):
        drafts = [
            Draft(
                campaign,
                decided(start + n),
                claims=((campaign, b"d:%d" % (start + n)),),
                unit=b"unit %d" % (start + n),
                unit_action=0,
                context=b"context",
            )
            for n in range(50)
        ]
        numbers = [one.seq for one in await accepted(log, *drafts)]
        await accepted(log, *(feedback(campaign, number, f"e{number}") for number in numbers[::2]))
    await log.erase(campaign, b"unit 7")
    await log.save_state(campaign, SavedState(log.head(), "v1", b"state"))
    await log.add_counts(campaign, "duplicates", 3)
    await log.save_uses({"k": 12})


async def filled(location: str) -> list[Record]:
    """Write a log that was never used before; return its records."""
    log = await open_log(location)
    try:
        await accepted(log, ADMIN)
        await fill(log)
        return await all_records(log)
    finally:
        await log.close()


async def all_records(log: LogReader) -> list[Record]:
    found: list[Record] = []
    while some := await log.records(found[-1].seq if found else 0, 1 << 62, 100):
        found += some
    return found


async def facts(log: LogReader, numbers: list[int]) -> tuple[Any, ...]:
    """Return what is known besides the records."""
    return (
        await log.decisions(1, numbers),
        [await log.number_at(1, rank) for rank in (0, 1, 256, 299, 300)],
        await log.by_key(1, [b"d:3", b"d:299"]),
        await log.unit_actions(1, b"unit 8"),
        await log.unit_actions(1, b"unit 7"),
        [await log.context(number) for number in numbers[5:10]],
        await log.load_state(1),
        await log.counts(1),
        await log.uses(),
        await log.count_records(),
        log.check(),
    )


def read(location: str) -> tuple[list[Record], tuple[Any, ...]]:
    with open_reader(location) as log:

        async def both() -> tuple[list[Record], tuple[Any, ...]]:
            records = await all_records(log)
            numbers = [one.seq for one in records if one.seq == one.decision]
            return records, await facts(log, numbers)

        return asyncio.run(both())


@pytest.mark.parametrize("to_file", [False, True])
def test_all_of_a_log_moves_and_its_source_is_sealed(
    tmp_path: Path, database: Callable[[], str], to_file: bool
) -> None:
    file, dsn = str(tmp_path / "log.db"), database()
    source, target = (dsn, file) if to_file else (file, dsn)
    records = asyncio.run(filled(source))
    before = read(source)
    assert before[0] == records
    assert before[1][-1].damage == []
    moved = copy_log(source, target)
    assert moved.records == len(records)
    assert moved.digests.keys() == {"streams", *(table.name for table in MOVED_TABLES)}
    assert read(target) == before == read(source)
    place = target.partition("?")[0]
    with pytest.raises(InvalidInput, match=f"has moved to {place}, and this one is sealed: use"):
        asyncio.run(open_log(source))
    with pytest.raises(InvalidInput, match="has moved to"):
        copy_log(source, target)
    with pytest.raises(InvalidInput, match="has moved to"):
        copy_log(source, str(tmp_path / "another.db"))


def test_streams_keep_their_chains_there_and_back(
    tmp_path: Path, database: Callable[[], str]
) -> None:
    """A file, then two servers on PostgreSQL at once, then another file, which is written on."""
    first, dsn, last = str(tmp_path / "first.db"), database(), str(tmp_path / "last.db")
    asyncio.run(filled(first))
    copy_log(first, dsn)

    async def two_servers() -> list[Record]:
        one, other = await open_log(dsn), await open_log(dsn)
        await asyncio.gather(fill(one, 100, campaign=2), fill(other, 100, campaign=3))
        (repeated,) = await one.append([Draft(1, decided(), claims=((1, b"d:3"),))])
        assert isinstance(repeated, Duplicate)
        await one.close()
        records = await all_records(other)
        await other.close()
        return records

    records = asyncio.run(two_servers())
    moved = copy_log(dsn, last)
    assert moved.records == len(records) == 1 + 450 + 2 * 150
    streams = [one.seq % 2048 for one in records]
    assert {0, 1} <= set(streams)

    async def write_on() -> None:
        log = await open_log(last)
        assert await all_records(log) == records
        await fill(log, 100, campaign=4)
        assert (await all_records(log))[: len(records)] == records
        (late,) = await accepted(log, feedback(1, records[1].seq, "late"))
        assert late.seq > log.head() - (1 << 40)
        assert late.seq > records[-1].seq
        await log.erase(2, b"unit 1")
        assert await log.count_records() == len(records) + 151
        assert [one.rank for one in await log.decisions_after(3, 0, 100)] == list(range(100))
        await log.close()
        again = await open_log(last)
        assert again.check().damage == []
        assert await again.count_records() == len(records) + 151
        await again.close()

    asyncio.run(write_on())
    and_back = database()
    assert copy_log(last, and_back).records == len(records) + 151
    with open_reader(and_back) as log:
        assert log.check().damage == []


@pytest.mark.parametrize("change", ["UPDATE events SET campaign = 9 WHERE seq = ?", None])
def test_damage_in_a_copied_stream_is_found(
    tmp_path: Path, database: Callable[[], str], change: str | None
) -> None:
    dsn, file = database(), str(tmp_path / "log.db")
    records = asyncio.run(filled(dsn))
    copy_log(dsn, file)
    with closing(apsw.Connection(file)) as connection:
        connection.execute(change or "DELETE FROM events WHERE seq = ?", (records[100].seq,))
    with open_reader(file) as log:
        assert log.check().damage
        with pytest.raises(Damaged):
            asyncio.run(all_records(log))
    with pytest.raises(DamagedFile, match="is damaged, so the source is not sealed"):
        copy_log(file, str(tmp_path / "other.db"))
    asyncio.run(reopened(file))


async def reopened(location: str) -> None:
    await (await open_log(location)).close()


KILLS = {
    "file to database, in the records": (False, DATABASE, "DatabaseTarget", "change", 3),
    "file to database, in what is next to them": (False, DATABASE, "DatabaseTarget", "change", 8),
    "file to database, sealed": (False, DATABASE, "DatabaseTarget", "open_up", 1),
    "database to file, in the records": (True, FILE, "FileTarget", "change", 3),
    "database to file, before it is sealed": (True, DATABASE, "DatabaseSource", "seal", 1),
    "database to file, sealed": (True, FILE, "FileTarget", "open_up", 1),
}


@pytest.mark.parametrize("kill", KILLS)
def test_a_copy_that_was_killed_goes_on_where_it_was(
    tmp_path: Path, database: Callable[[], str], kill: str
) -> None:
    to_file, module, side, method, call = KILLS[kill]
    file, dsn = str(tmp_path / "log.db"), database()
    source, target = (dsn, file) if to_file else (file, dsn)
    asyncio.run(filled(source))
    before = read(source)
    script = KILLED.format(module=module, side=side, method=method, call=call)
    died = subprocess.run([sys.executable, "-c", script, source, target], check=False, timeout=120)
    assert died.returncode == -signal.SIGKILL
    with pytest.raises(InvalidInput, match=r"holds an unfinished copy of .*: run foretell copy"):
        asyncio.run(open_log(target))
    with pytest.raises(InvalidInput, match="holds an unfinished copy"), open_reader(target):
        pass
    if method == "open_up":
        with pytest.raises(InvalidInput, match="has moved to"):
            asyncio.run(open_log(source))
    moved = copy_log(source, target)
    assert (moved.records, read(target)) == (len(before[0]), before)
    asyncio.run(reopened(target))


@pytest.mark.parametrize("to_file", [False, True])
def test_what_is_served_is_copied_and_not_sealed(
    tmp_path: Path, database: Callable[[], str], to_file: bool
) -> None:
    """What is erased in between is erased in the target, and what comes later is taken."""
    file, dsn = str(tmp_path / "log.db"), database()
    source, target = (dsn, file) if to_file else (file, dsn)

    def refused() -> str:
        with pytest.raises(InvalidInput, match="what was written so far is copied") as caught:
            copy_log(source, target)
        return str(caught.value)

    async def law() -> None:
        log = await open_log(source)
        await accepted(log, ADMIN)
        await fill(log)
        said = await asyncio.to_thread(refused)
        assert ("1 server writes it" if to_file else "another process writes") in said
        await log.erase(1, b"unit 3")
        await log.add_counts(1, "duplicates", 1)
        await fill(log, 50, campaign=2)
        await log.close()

    asyncio.run(law())
    before = read(source)
    copy_log(source, target)
    assert read(target) == before


def test_a_test_database_keeps_its_speed(tmp_path: Path, database: Callable[[], str]) -> None:
    first, dsn, last = str(tmp_path / "first.db"), database(), str(tmp_path / "last.db")

    async def law() -> None:
        log = await open_log(first, time_scale=60.0)
        await accepted(log, ADMIN)
        await log.close()
        for source, target in ((first, dsn), (dsn, last)):
            await asyncio.to_thread(copy_log, source, target)
            log = await open_log(target)
            assert log.time_scale == 60.0
            await accepted(log, Draft(1, decided()))
            await log.close()

    asyncio.run(law())


def test_a_server_that_was_killed_does_not_hold_up_a_copy(
    tmp_path: Path, database: Callable[[], str]
) -> None:
    dsn = database()

    async def crash() -> None:
        log: Any = await open_log(dsn)
        await accepted(log, ADMIN)
        await log.abandon()

    asyncio.run(crash())
    assert copy_log(dsn, str(tmp_path / "log.db")).records == 1


def test_a_target_with_another_log_is_refused(tmp_path: Path, database: Callable[[], str]) -> None:
    one, other, dsn = str(tmp_path / "one.db"), str(tmp_path / "other.db"), database()
    asyncio.run(filled(one))
    asyncio.run(filled(other))
    with pytest.raises(InvalidInput, match="there is another log in"):
        copy_log(one, other)
    asyncio.run(reopened(dsn))
    with pytest.raises(InvalidInput, match="servers have used"):
        copy_log(one, dsn)
    asyncio.run(reopened(str(tmp_path / "empty.db")))
    with pytest.raises(InvalidInput, match="there is nothing to copy"):
        copy_log(str(tmp_path / "empty.db"), str(tmp_path / "target.db"))
    asyncio.run(reopened(one))


def test_a_row_that_differs_keeps_the_source_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foretell.service.log.sqlite.moving_file import FileTarget

    one, other = str(tmp_path / "one.db"), str(tmp_path / "other.db")
    asyncio.run(filled(one))
    complete = FileTarget.complete

    def lossy(self: FileTarget, streams: Any) -> None:
        complete(self, streams)
        self._connection.execute("UPDATE counters SET count = 4")

    monkeypatch.setattr(FileTarget, "complete", lossy)
    with pytest.raises(Exception, match=r"the counters of .* differ .* the source is not sealed"):
        copy_log(one, other)
    asyncio.run(reopened(one))


def test_a_decider_that_comes_back_finds_that_the_log_has_moved(
    tmp_path: Path, database: Callable[[], str]
) -> None:
    """One that hung while others copied the log opens no stream in it any more."""
    dsn = database()

    async def fill_and_close() -> None:
        await filled(dsn)

    asyncio.run(fill_and_close())
    moved = copy_log(dsn, str(tmp_path / "log.db"))
    assert isinstance(moved, Moved)

    async def insert() -> None:
        connection = await asyncpg.connect(dsn)
        try:
            await connection.execute(
                "INSERT INTO foretell.streams SELECT stream + 1, slot, head, first, last, records, "
                "link, claims, false, checksum, seen, beat, host FROM foretell.streams LIMIT 1"
            )
        finally:
            await connection.close()

    with pytest.raises(asyncpg.PostgresError, match=r"the log has moved to .*log.db"):
        asyncio.run(insert())
