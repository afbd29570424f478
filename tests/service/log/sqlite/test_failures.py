"""A disk that fails: what was not written is refused, what was written is found, and it goes on."""

from __future__ import annotations

import asyncio
import errno
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.open import open_log
from foretell.service.log.protocol import Log, SavedState
from foretell.service.log.sqlite import database, names, watch
from foretell.service.log.sqlite.log import SqliteLog
from tests.service.log.engines import (
    ADMIN,
    accepted,
    decide,
    feedback,
    open_again,
    read_all,
    tail_until,
)
from tests.torture.disk import Disk


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "REOPEN_SECONDS", 0.01)
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.01)


async def until_closed(log: Log, words: str = "") -> None:
    """Wait until a log is closed, and says so in these words."""
    for _ in range(4000):
        if log.closed is not None and words in log.closed:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(log.closed)


def test_a_sync_that_fails_closes_the_log_until_the_disk_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = Disk(tmp_path / "live.db")

    async def run() -> None:
        log = await open_log(str(tmp_path / "live.db"), vfs=disk.name)
        first = await decide(log)
        following = asyncio.create_task(
            tail_until(log, 0, lambda records, _: bool(records) and records[-1].campaign == 9)
        )
        await asyncio.sleep(0.02)
        disk.fault = lambda operation, ending, _: (
            apsw.IOError("no") if (operation, ending) == ("sync", "-wal") else None
        )
        failed = await asyncio.gather(
            *(decide(log, nonce=n) for n in range(5)), return_exceptions=True
        )
        assert all(isinstance(one, LogClosed) for one in failed)
        assert log.closed is not None
        for refused in (decide(log), log.add_counts(1, "a", 1), log.erase(1, b"u")):
            with pytest.raises(LogClosed, match="nothing was taken in"):
                await refused
        await asyncio.sleep(0.1)
        assert log.closed is not None
        with pytest.raises(LogClosed):
            await log.decisions(1, [first])
        disk.fault = lambda *_: None
        await open_again(log)
        number = await decide(log, campaign=9)
        records = [record for item in await following for record in item.records]
        assert records == await read_all(log)
        assert (records[0].seq, records[-1].seq) == (first, number)
        assert log.check().damage == []
        await log.close()

    with caplog.at_level(logging.WARNING, "foretell"):
        asyncio.run(run())
    closed, *_, opened = caplog.messages
    assert closed.startswith("the log is closed: ")
    assert opened.startswith("the log is open again at ")


def test_nothing_is_below_what_is_complete_though_it_turns_out_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit whose answer is lost: the tail waits, and then brings it."""

    async def run() -> None:
        log = SqliteLog(str(tmp_path / "a.db"))
        writer = log._database._writer
        really = writer._call_loop
        monkeypatch.setattr(writer, "_call_loop", lambda function, argument: lost(really, argument))

        def lost(call: Callable[..., None], argument: object) -> None:
            call(writer._on_fail, OSError("the answer is lost"))

        await asyncio.sleep(0)
        with pytest.raises(LogClosed, match="the answer is lost"):
            await decide(log)
        complete = log._stamps.complete()
        await open_again(log)
        (record,) = await read_all(log)
        assert complete <= record.seq
        items = await tail_until(log, 0, lambda records, _: bool(records))
        assert [one for item in items for one in item.records] == [record]
        assert record.seq < log.head()
        await log.close()

    asyncio.run(run())


def test_a_read_that_fails_closes_the_log_too(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "live.db")

    async def run() -> None:
        log = await open_log(str(tmp_path / "live.db"), vfs=disk.name)
        numbers = [await decide(log, nonce=n) for n in range(300)]
        await log.close()
        log = await open_log(str(tmp_path / "live.db"), vfs=disk.name)
        disk.reads_fail = True
        with pytest.raises(LogClosed, match="cannot be read"):
            await log.decisions(1, numbers)
        assert log.closed is not None
        disk.reads_fail = False
        await open_again(log)
        assert len(await log.decisions(1, numbers)) == 300
        await decide(log)
        await log.close()

    asyncio.run(run())


def test_a_full_disk_is_no_reason_to_forget(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "live.db")

    async def run() -> None:
        log = await open_log(str(tmp_path / "live.db"), vfs=disk.name)
        await decide(log)
        disk.room = 0
        with pytest.raises(LogClosed):
            await accepted(log, *[ADMIN] * 200)
        disk.room = None
        await open_again(log)
        assert await log.count_records() in (1, 201)
        await decide(log)
        assert log.check().damage == []
        await log.close()

    asyncio.run(run())


@pytest.mark.parametrize("how", ["moved", "deleted", "replaced"])
def test_a_database_that_is_gone_is_not_written_any_more(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, moved, rescued = tmp_path / "a.db", tmp_path / "moved.db", tmp_path / "a.db.rescued"

    async def run() -> None:
        log = await open_log(str(path))
        await decide(log)
        if how == "moved":
            path.rename(moved)
        elif how == "deleted":
            path.unlink()
        else:
            moved.write_bytes(path.read_bytes())
            moved.replace(path)
        with pytest.raises(LogClosed, match=r"was deleted, moved or replaced.*is not known"):
            await decide(log)
        with pytest.raises(LogClosed, match="nothing was taken in"):
            await decide(log)
        where = f"is now '{moved}'" if how == "moved" else f"is now in '{rescued}'"
        await until_closed(log, where)
        assert path.exists() == (how == "replaced")
        if how == "moved":
            moved.rename(path)
            await open_again(log)
            await decide(log)
            assert await log.count_records() == 3
        await log.close()
        assert path.exists() == (how != "deleted")

    with caplog.at_level(logging.WARNING, "foretell"):
        asyncio.run(run())
    if how != "moved":
        assert rescued.stat().st_mode & 0o777 == 0o600
        rescued.replace(path)
        assert asyncio.run(count(path)) == 2
        assert not (tmp_path / "a.db-wal").exists()


async def count(path: Path) -> int:
    log = await open_log(str(path))
    try:
        assert log.check().damage == []
        return await log.count_records()
    finally:
        await log.close()


def remove_all(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def test_a_deleted_database_is_copied_at_the_end_if_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "REOPEN_SECONDS", 1000.0)
    path = tmp_path / "a.db"

    async def run() -> None:
        log = await open_log(str(path))
        await decide(log)
        remove_all(tmp_path)
        with pytest.raises(LogClosed):
            await decide(log)
        await log.close()

    asyncio.run(run())
    (tmp_path / "a.db.rescued").replace(path)
    assert asyncio.run(count(path)) == 2


def test_a_copy_that_finds_no_room_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files without a name stay open until all that is in them is somewhere else."""
    path, (really, full) = tmp_path / "a.db", (names._copy_aside, [True])

    def copy_aside(writer: apsw.Connection, path: str) -> str:
        if full[0]:
            raise OSError(errno.ENOSPC, "no room")
        return really(writer, path)

    monkeypatch.setattr(names, "_copy_aside", copy_aside)

    async def run() -> None:
        log = await open_log(str(path))
        await decide(log)
        path.unlink()
        await until_closed(log)
        await asyncio.sleep(0.1)
        assert "rescued" not in str(log.closed)
        full[0] = False
        await until_closed(log, "a.db.rescued")
        await log.close()

    asyncio.run(run())
    (tmp_path / "a.db.rescued").replace(path)
    assert asyncio.run(count(path)) == 1


def test_an_idle_log_notices_that_its_database_is_gone(tmp_path: Path) -> None:
    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        (tmp_path / "a.db").rename(tmp_path / "b.db")
        await until_closed(log)
        (tmp_path / "b.db").rename(tmp_path / "a.db")
        await open_again(log)
        await log.close()

    asyncio.run(run())


def test_a_journal_that_is_deleted_is_written_to_the_database(tmp_path: Path) -> None:
    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        numbers = [await decide(log, nonce=n) for n in range(3)]
        (tmp_path / "a.db-wal").unlink()
        await until_closed(log)
        await open_again(log)
        assert len(await log.decisions(1, numbers)) == 3
        await decide(log)
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        await log.close()

    asyncio.run(run())
    assert asyncio.run(count(tmp_path / "a.db")) == 4


def test_where_the_system_does_not_say_what_is_open_a_copy_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "DESCRIPTORS", tmp_path / "nowhere")

    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        await decide(log)
        (tmp_path / "a.db").rename(tmp_path / "b.db")
        await until_closed(log, "a.db.rescued")
        await log.close()

    asyncio.run(run())
    assert asyncio.run(count(tmp_path / "a.db.rescued")) == 1


def test_a_disk_that_hangs_closes_the_log_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(watch, "STALL_SECONDS", 0.1)
    disk, answers = Disk(tmp_path / "live.db"), threading.Event()

    def hang(operation: str, ending: str, _: int) -> None:
        if (operation, ending) == ("sync", "-wal"):
            answers.wait()

    async def run() -> None:
        log = await open_log(str(tmp_path / "live.db"), vfs=disk.name)
        first = await decide(log)
        disk.fault = hang
        with pytest.raises(LogClosed, match=r"has not answered.*is not known"):
            await decide(log)
        with pytest.raises(LogClosed, match=r"has not answered.*nothing was taken in"):
            await decide(log)
        assert len(await log.decisions(1, [first])) == 1  # what can be read is read
        answers.set()
        await open_again(log)
        await decide(log)
        assert await log.count_records() == 3
        await log.close()

    with caplog.at_level(logging.WARNING, "foretell"):
        asyncio.run(run())
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "the log is closed",
        "the log is open again",
    ]


def test_a_damaged_earlier_record_fails_its_own_call_only(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")

    async def run() -> None:
        log = await open_log(path)
        await accepted(log, feedback(1, 5 << 20, "a"), *[ADMIN] * 200)
        await log.close()
        connection = apsw.Connection(path)
        connection.execute("UPDATE events SET body = x'00' WHERE decision > 0")
        connection.close()
        log = await open_log(path)
        broken = log.append([feedback(1, 5 << 20, "c"), feedback(1, 5 << 20, "a")])
        failed, written = await asyncio.gather(
            broken, log.append([feedback(1, 5 << 20, "b")]), return_exceptions=True
        )
        assert isinstance(failed, Damaged)
        assert isinstance(written, list)
        assert log.closed is None
        assert list(await log.by_key(1, [b"e:b", b"e:c"])) == [b"e:b"]
        with pytest.raises(Damaged):
            await log.by_key(1, [b"e:a"])
        await log.close()

    asyncio.run(run())


def test_closing_a_log_that_is_closed_by_a_failure_ends(tmp_path: Path) -> None:
    disk = Disk(tmp_path / "live.db")

    async def run() -> None:
        log = await open_log(str(tmp_path / "live.db"), vfs=disk.name)
        await decide(log)
        disk.fault = lambda *_: apsw.IOError("no")
        with pytest.raises(LogClosed):
            await decide(log)
        await log.close()
        with pytest.raises(LogClosed):
            await log.save_state(1, SavedState(1, "a", b""))
        with pytest.raises(LogClosed):
            await log.campaigns()
        disk.fault = lambda *_: None
        log = await open_log(str(tmp_path / "live.db"))
        assert await log.count_records() >= 1
        await log.close()

    asyncio.run(run())


def test_a_waiter_that_was_cancelled_harms_nobody(tmp_path: Path) -> None:
    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        tasks = [asyncio.create_task(decide(log, nonce=n)) for n in range(10)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(one, int) for one in done) == 9
        await decide(log)
        assert log.closed is None
        await log.close()

    asyncio.run(run())
