"""A copy replaces a running database: whoever reads meanwhile gets an error, and nothing mixes."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import apsw
import pytest

from foretell.errors import DamagedFile, InvalidInput
from foretell.service.log.errors import LogClosed
from foretell.service.log.open import open_log, open_reader, restore_log
from foretell.service.log.protocol import Log
from foretell.service.log.sqlite import connections, database, restore
from foretell.service.log.sqlite.connection import connect
from tests.service.log.engines import ADMIN, accepted, decide, open_again, read_all


async def opened(path: Path, decisions: int, **options: Any) -> Log:
    log = await open_log(str(path), **options)
    await accepted(log, ADMIN)
    await asyncio.gather(*(decide(log, nonce=n) for n in range(decisions)))
    return log


def files(folder: Path) -> set[str]:
    """Return the names in a folder, but for what a connection makes for itself."""
    return {one.name for one in folder.iterdir() if not one.name.endswith(("-shm", "-wal"))}


async def close(opening: Awaitable[Log]) -> None:
    await (await opening).close()


def count(path: Path) -> int:
    with open_reader(str(path)) as reader:
        return asyncio.run(reader.count_records())


def crashed(path: Path, copy: Path) -> None:
    """Copy a database as a crash would leave it: its newest records in the journal."""
    for ending in ("", "-wal"):
        shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
    assert Path(f"{copy}-wal").stat().st_size > 0


@pytest.mark.parametrize(("copied", "running"), [(None, 1000.0), (1000.0, None), (10.0, 1000.0)])
def test_a_copy_of_another_speed_is_refused(
    tmp_path: Path, copied: float | None, running: float | None
) -> None:
    async def run() -> None:
        one = await opened(tmp_path / "one.db", 1, time_scale=copied)
        await one.backup(str(tmp_path / "copy.db"))
        await one.close()
        log = await opened(tmp_path / "a.db", 3, time_scale=running)
        with pytest.raises(InvalidInput, match="different speeds"):
            await log.restore(str(tmp_path / "copy.db"))
        assert await log.count_records() == 4
        await log.close()

    asyncio.run(run())


def test_what_is_in_the_journal_of_a_copy_is_restored_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        one = await opened(tmp_path / "one.db", 20)
        crashed(tmp_path / "one.db", tmp_path / "copy.db")
        await one.close()
        log = await opened(tmp_path / "a.db", 3)
        with caplog.at_level(logging.INFO, "foretell"):
            await log.restore(str(tmp_path / "copy.db"))
        assert await log.count_records() == 21
        await log.close()

    asyncio.run(run())
    (message,) = (one for one in caplog.messages if "restored" in one)
    kept = tmp_path / "a.db.before-restore"
    assert message == f"restored; the old database is in {kept}"
    assert (count(tmp_path / "a.db"), count(kept)) == (21, 4)


def test_an_empty_copy_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        connect(str(tmp_path / "copy.db"), write=True).close()
        log = await opened(tmp_path / "a.db", 3)
        with pytest.raises(DamagedFile, match="its 0 records hold no admin key"):
            await log.restore(str(tmp_path / "copy.db"))
        await decide(log)
        assert files(tmp_path) == {"a.db", "a.db.lock", "copy.db"}
        await log.close()

    asyncio.run(run())


def test_a_read_during_a_restore_ends_and_the_log_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        log = await opened(tmp_path / "a.db", 3000)
        await log.backup(str(tmp_path / "copy.db"))

        async def read() -> None:
            while True:
                await read_all(log)

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        await log.restore(str(tmp_path / "copy.db"))
        if reading.done():
            with pytest.raises(LogClosed):
                reading.result()
        else:
            reading.cancel()
        await decide(log)
        assert await log.count_records() == 3002
        await log.close()

    asyncio.run(run())


class Full:
    """A connection whose disk is full when half of a copy is written."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    def execute(self, sql: str, bindings: tuple[Any, ...] = ()) -> Any:
        if not sql.startswith("VACUUM"):
            return self.connection.execute(sql, bindings)
        Path(bindings[0]).write_bytes(bytes(1000))
        raise apsw.FullError("database or disk is full")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)


def test_a_restore_without_room_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        log = await opened(tmp_path / "a.db", 3)
        await log.backup(str(tmp_path / "copy.db"))
        monkeypatch.setattr(restore, "connect", lambda path, **how: Full(connect(path, **how)))
        with pytest.raises(OSError, match="No space left") as raised:
            await log.restore(str(tmp_path / "copy.db"))
        assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(tmp_path / "a.db"))
        await decide(log)
        assert files(tmp_path) == {"a.db", "a.db.lock", "copy.db"}
        await log.close()

    asyncio.run(run())


def test_a_copy_that_cannot_be_put_in_place_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: str) -> None:
        raise OSError(errno.EPERM, "no links here")

    async def run() -> None:
        log = await opened(tmp_path / "a.db", 3)
        await log.backup(str(tmp_path / "copy.db"))
        await decide(log)
        tail = log.tail(0)
        assert len((await anext(tail)).records) == 5
        monkeypatch.setattr(os, "link", refuse)
        with pytest.raises(OSError, match="no links here"):
            await log.restore(str(tmp_path / "copy.db"))
        number = await decide(log)
        while not (records := (await anext(tail)).records):
            pass
        assert [record.seq for record in records] == [number]
        assert await log.count_records() == 6
        assert files(tmp_path) == {"a.db", "a.db.lock", "copy.db"}
        await log.close()

    asyncio.run(run())


def test_a_log_that_cannot_be_opened_after_a_restore_opens_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again and again, and said once that it was in vain."""
    monkeypatch.setattr(database, "REOPEN_SECONDS", 0.001)
    tries = 0

    async def run() -> None:
        log = await opened(tmp_path / "a.db", 3)
        await log.backup(str(tmp_path / "copy.db"))
        await decide(log)
        really = connections.open_connections

        def fail_at_first(path: str, **options: Any) -> Any:
            nonlocal tries
            tries += 1
            if tries < 20:
                raise apsw.FullError("database or disk is full")
            return really(path, **options)

        monkeypatch.setattr(database, "open_connections", fail_at_first)
        with pytest.raises(LogClosed, match="disk is full"):
            await log.restore(str(tmp_path / "copy.db"))
        await open_again(log)
        await decide(log)
        assert await log.count_records() == 5
        await log.close()

    asyncio.run(run())
    assert tries == 20
    assert sum("still closed" in record for record in caplog.messages) == 1
    assert sum("open again" in record for record in caplog.messages) == 1


def test_two_restores_at_the_same_time_come_one_after_the_other(tmp_path: Path) -> None:
    async def run() -> None:
        log = await opened(tmp_path / "a.db", 3)
        copy = str(tmp_path / "copy.db")
        await log.backup(copy)
        await decide(log)
        await asyncio.gather(log.restore(copy), log.restore(copy))
        assert await log.count_records() == 4
        assert files(tmp_path) >= {"a.db.before-restore", "a.db.before-restore-2"}
        assert "a.db.part" not in files(tmp_path)
        await log.close()

    asyncio.run(run())


def test_a_journal_that_was_left_behind_is_not_mixed_with_a_copy(tmp_path: Path) -> None:
    async def run() -> None:
        log = await opened(tmp_path / "one.db", 20)
        await log.backup(str(tmp_path / "copy.db"))
        await decide(log)
        crashed(tmp_path / "one.db", tmp_path / "a.db")
        await log.close()

    asyncio.run(run())
    path = tmp_path / "a.db"
    path.unlink()
    restore_log(str(tmp_path / "copy.db"), str(path))
    assert not Path(f"{path}-wal").exists()
    assert count(path) == 21


def test_a_damaged_journal_is_kept_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        log = await opened(tmp_path / "one.db", 20)
        await log.backup(str(tmp_path / "copy.db"))
        crashed(tmp_path / "one.db", tmp_path / "a.db")
        await log.close()

    asyncio.run(run())
    path = tmp_path / "a.db"
    journal = Path(f"{path}-wal").read_bytes()
    monkeypatch.setattr(restore, "count_lost_transactions", lambda _: 2)
    restore_log(str(tmp_path / "copy.db"), str(path))
    assert Path(f"{path}.before-restore-wal").read_bytes() == journal
    assert count(path) == 21


def test_a_log_that_a_server_uses_is_not_replaced(tmp_path: Path) -> None:
    async def run() -> None:
        log = await opened(tmp_path / "a.db", 3)
        await log.backup(str(tmp_path / "copy.db"))
        with pytest.raises(InvalidInput, match="another process writes"):
            restore_log(str(tmp_path / "copy.db"), str(tmp_path / "a.db"))
        await log.close()

    asyncio.run(run())


def test_a_restore_says_where_the_old_database_is_if_there_was_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    asyncio.run(close(opened(copy, 1)))
    for said in ("restored; there was none before", f"the old database is in {path}.before"):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "foretell"):
            restore_log(str(copy), str(path))
        assert said in caplog.text
