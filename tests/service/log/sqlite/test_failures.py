"""A disk that fails: what was not written is refused, what was written is found, and it goes on."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.open import open_log
from foretell.service.log.protocol import SavedState
from foretell.service.log.sqlite import database, watch
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.reader import RecordReader
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


def shared_index(path: Path) -> bytes:
    """Read the shared index in a process of its own: closing it here would drop its locks."""
    print_it = "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"
    return subprocess.run(
        [sys.executable, "-c", print_it, f"{path}-shm"], capture_output=True, check=True
    ).stdout


def test_a_read_writes_nothing_for_which_it_could_wait(tmp_path: Path) -> None:
    """A frozen file system lets nobody write to the shared index: the event loop would stand."""

    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        for nonce in range(5):
            number = await decide(log, nonce=nonce)
            before = shared_index(tmp_path / "a.db")
            assert len(await log.decisions(1, [number])) == 1
            assert shared_index(tmp_path / "a.db") == before
        await log.close()

    asyncio.run(run())


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


def test_a_key_that_nobody_asked_for_is_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flipped bit of a page can make SQLite return another key than the one it looked for."""
    rows_of = RecordReader._rows

    def flipped(reader: RecordReader, sql: str, bindings: Any = ()) -> Iterator[Any]:
        for key, *row in rows_of(reader, sql, bindings):
            yield (bytes([key[0] ^ 1, *key[1:]]), *row)

    async def run() -> None:
        log = await open_log(str(tmp_path / "live.db"))
        await accepted(log, feedback(1, await decide(log), "e"))
        assert len(await log.by_key(1, [b"e:e"])) == 1
        monkeypatch.setattr(RecordReader, "_rows", flipped)
        with pytest.raises(Damaged, match="the key of record"):
            await log.by_key(1, [b"e:e"])
        monkeypatch.undo()
        await log.close()

    asyncio.run(run())
