"""What is opened is one database, whole, at its own speed, by one process."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from foretell.errors import DamagedFile, InvalidInput
from foretell.service.log.clock import YEAR_2110
from foretell.service.log.errors import Damaged
from foretell.service.log.open import back_up_log, open_log, restore_log
from foretell.service.log.sqlite import lock as locks
from foretell.service.log.sqlite.lock import FileLock
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.model.events import moment
from tests.service.log.engines import ADMIN, accepted, decide, read_all
from tests.service.log.machine import START, Machine


async def write(path: Path, records: int = 3, **options: float) -> int:
    log = await open_log(str(path), time_scale=options.get("time_scale"))
    await accepted(log, *[ADMIN] * records)
    await log.close()
    return log.head()


async def count(path: Path) -> int:
    log = await open_log(str(path))
    try:
        return await log.count_records()
    finally:
        await log.close()


def test_a_second_server_is_refused_under_any_name(tmp_path: Path) -> None:
    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        (tmp_path / "folder").symlink_to(tmp_path)
        (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
        (tmp_path / "c.db").hardlink_to(tmp_path / "a.db")
        for name in ("a.db", "b.db", "folder/a.db", "folder/b.db", "c.db"):
            with pytest.raises(InvalidInput, match="another process writes"):
                await open_log(str(tmp_path / name))
        await accepted(log, ADMIN)
        await log.close()
        with pytest.raises(InvalidInput, match=r"2 names \(hard links\)"):
            await open_log(str(tmp_path / "c.db"))
        (tmp_path / "c.db").unlink()
        assert await count(tmp_path / "b.db") == 1

    asyncio.run(run())


def test_a_file_is_locked_by_whatever_name_and_without_its_lock(tmp_path: Path) -> None:
    """The lock on the file holds where the lock on its name was removed, or is another one."""

    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        await accepted(log, ADMIN)
        with closing(apsw.Connection(str(tmp_path / "a.db"))) as reader:
            assert reader.execute("SELECT count(*) FROM events").get == 1  # nobody is kept out
        (tmp_path / "a.db.lock").unlink()
        with log.scratch_folder() as in_use:
            with pytest.raises(InvalidInput, match="another process writes"):
                await open_log(str(tmp_path / "a.db"))
            assert os.listdir(in_use) == []  # noqa: PTH208  (it is there)
        (tmp_path / "a.db").rename(tmp_path / "b.db")
        with pytest.raises(InvalidInput, match="another process writes"):
            await open_log(str(tmp_path / "b.db"))
        (tmp_path / "b.db").rename(tmp_path / "a.db")
        back_up_log(str(tmp_path / "a.db"), str(tmp_path / "copy.db"))
        with pytest.raises(InvalidInput, match="another process writes"):
            restore_log(str(tmp_path / "copy.db"), str(tmp_path / "a.db"))
        await accepted(log, ADMIN)
        await log.close()
        assert not (tmp_path / "a.db-wal").exists()  # closed whole, and free for the next
        assert await count(tmp_path / "a.db") == 2

    asyncio.run(run())


def test_a_reader_that_closes_the_database_keeps_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last to close a database has it alone for a moment."""
    asyncio.run(write(tmp_path / "a.db"))
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
    closing_one = apsw.VFSFile("", str(tmp_path / "a.db"), flags)
    for level in (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_EXCLUSIVE):
        closing_one.xLock(level)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            closing_one.xUnlock(apsw.SQLITE_LOCK_NONE)
            closing_one.xClose()

    monkeypatch.setattr(locks, "sleep", sleep)
    FileLock(str(tmp_path / "a.db")).release()
    assert len(waits) == 3


def test_a_journal_is_not_mixed_with_a_database_from_before(tmp_path: Path) -> None:
    """A copy that was put under a later journal is refused, and both stay as they are."""
    path, journal = tmp_path / "a.db", tmp_path / "a.db-wal"
    asyncio.run(write(path))
    shutil.copyfile(path, tmp_path / "copy.db")

    async def crash() -> None:
        log = SqliteLog(str(path))
        writer = log._database._writer
        writer.checkpoint_pages = 1
        await accepted(log, *[ADMIN] * 400)
        await accepted(log, ADMIN)
        writer.checkpoint_pages = 1000
        await accepted(log, *[ADMIN] * 5)
        await accepted(log, *[ADMIN] * 5)
        shutil.copyfile(journal, tmp_path / "kept")
        await log.close()

    asyncio.run(crash())
    (tmp_path / "copy.db").replace(path)
    (tmp_path / "kept").replace(journal)
    before = path.read_bytes(), journal.read_bytes()
    with pytest.raises(DamagedFile):
        asyncio.run(count(path))
    assert (path.read_bytes(), journal.read_bytes()) == before


def test_a_journal_without_its_database_is_refused_and_stays(tmp_path: Path) -> None:
    path, journal = tmp_path / "a.db", tmp_path / "a.db-wal"

    async def crash() -> None:
        log = await open_log(str(path))
        await accepted(log, ADMIN)
        shutil.copyfile(journal, tmp_path / "kept")
        await log.close()

    asyncio.run(crash())
    path.unlink()
    (tmp_path / "kept").rename(journal)
    before = journal.read_bytes()
    for exists in (False, True):
        if exists:
            path.touch()
        with pytest.raises(DamagedFile, match="without its database"):
            asyncio.run(count(path))
        assert journal.read_bytes() == before


def test_a_head_that_was_changed_is_refused(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path / "a.db"))
    for sql in ("UPDATE streams SET head = head * 2", "DELETE FROM streams"):
        with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
            connection.execute(sql)
        with pytest.raises(Damaged, match="the end of the log"):
            asyncio.run(count(tmp_path / "a.db"))


@pytest.mark.parametrize("half", ["staged", "linked", "journal moved"])
def test_half_a_restore_is_undone(tmp_path: Path, half: str) -> None:
    path, aside = tmp_path / "a.db", tmp_path / "a.db.before-restore"
    asyncio.run(write(path))
    (tmp_path / "a.db.part").write_bytes(b"half")
    if half != "staged":
        os.link(path, aside)
    if half == "journal moved":
        (tmp_path / "a.db.before-restore-wal").touch()
    assert asyncio.run(count(path)) == 3
    assert {one.name for one in tmp_path.iterdir()} == {"a.db", "a.db.lock"}


def test_a_database_that_is_marked_runs_at_its_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)

    async def run() -> None:
        for given in (1000.0, None, 1000.0):
            log = await open_log(str(tmp_path / "a.db"), time_scale=given)
            assert log.time_scale == 1000.0
            before = moment(log.now())
            machine.pass_time(2)
            assert moment(log.now()) - before == pytest.approx(2e9, abs=2000)
            await accepted(log, ADMIN)
            await log.close()
        with pytest.raises(InvalidInput, match="runs at 1000 times the speed of the clock, got 5"):
            await open_log(str(tmp_path / "a.db"), time_scale=5.0)

    asyncio.run(run())


def test_a_database_at_the_speed_of_the_clock_stays_so(tmp_path: Path) -> None:
    asyncio.run(write(tmp_path / "a.db"))
    with pytest.raises(InvalidInput, match="time_scale needs a database of its own"):
        asyncio.run(write(tmp_path / "a.db", time_scale=10.0))


def test_a_database_beyond_the_end_of_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(monkeypatch)
    asyncio.run(write(tmp_path / "a.db", time_scale=1e6))
    machine.pass_time((YEAR_2110 - START) / 1e12)
    with pytest.raises(InvalidInput, match="the year 2110"):
        asyncio.run(write(tmp_path / "a.db"))


def test_log_time_goes_on_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)

    async def time() -> int:
        log = await open_log(str(tmp_path / "a.db"))
        try:
            await decide(log)
            return moment(log.now())
        finally:
            await log.close()

    before = asyncio.run(time())
    machine.pass_time(10)
    machine.wall -= 3600 * 1_000_000
    after = asyncio.run(time())
    assert 10_000_000 <= after - before <= 10_000_010


def test_records_written_in_another_durability_are_read(tmp_path: Path) -> None:
    async def run() -> None:
        for durability in ("relaxed", "full", "relaxed"):
            log = await open_log(str(tmp_path / "a.db"), durability=durability)
            await decide(log)
            await accepted(log, ADMIN)
            await log.close()
        log = await open_log(str(tmp_path / "a.db"))
        assert len(await read_all(log)) == 6
        await log.close()

    asyncio.run(run())
