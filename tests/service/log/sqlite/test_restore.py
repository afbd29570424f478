"""A copy replaces a running database: whoever reads meanwhile gets an error, and nothing mixes."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from foretell import protocol
from foretell.errors import DamagedFile, InvalidInput
from foretell.service.engine import Engine, queries
from foretell.service.engine import engine as engine_module
from foretell.service.log.sqlite import backup, restore
from foretell.service.log.sqlite.campaign_reader import last_seq
from foretell.service.log.sqlite.connection import connect
from foretell.service.model.errors import LogClosed

CAMPAIGN = protocol.NewCampaign("c", ["a", "b"], ["none", "click"], "ucb")


async def opened(path: Path, decisions: int, **options: Any) -> Engine:
    engine = await Engine.open(path, compiled=False, **options)
    await engine.create(CAMPAIGN)
    await asyncio.gather(
        *(engine.decide("c", protocol.DecisionRequest()) for _ in range(decisions))
    )
    return engine


async def exported(engine: Engine) -> None:
    async for _ in engine.export("c"):
        await asyncio.sleep(0)


READS: dict[str, Callable[[Engine], Awaitable[Any]]] = {
    "delays": lambda engine: engine.delays("c"),
    "export": exported,
    "refit": lambda engine: engine.refit("c"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READS)
def test_a_read_during_a_restore_ends_and_the_service_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(queries, "EXPORT_PAGE", 20)

    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 10)
        await engine.backup(str(tmp_path / "copy.db"))
        await asyncio.gather(*(engine.decide("c", protocol.DecisionRequest()) for _ in range(3000)))
        readers, replace = [], engine._replace_log

        async def read_meanwhile(part: str) -> None:
            readers.append(asyncio.ensure_future(READS[name](engine)))
            await asyncio.sleep(0)
            assert not readers[0].done()
            await replace(part)

        monkeypatch.setattr(engine, "_replace_log", read_meanwhile)
        await engine.restore(str(tmp_path / "copy.db"))
        with pytest.raises(LogClosed):
            await asyncio.wait_for(readers[0], 60)
        assert engine.runtime.closed is None
        await engine.decide("c", protocol.DecisionRequest())
        assert (await engine.report("c")).counts.decisions == 11
        await engine.close()

    asyncio.run(run())


def test_a_failure_of_the_log_before_closes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 1)
        await engine.backup(str(tmp_path / "copy.db"))
        before = engine.runtime.log
        await engine.restore(str(tmp_path / "copy.db"))
        before.on_fail(OSError("the connection is closed"))
        assert engine.runtime.closed is None
        await engine.close()

    asyncio.run(run())


def test_what_was_damaged_before_is_no_longer_said(tmp_path: Path) -> None:
    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 1)
        await engine.backup(str(tmp_path / "copy.db"))
        engine.maintenance.note_damage("record 3 is damaged")
        await engine.restore(str(tmp_path / "copy.db"))
        assert engine.maintenance.damage == []
        await engine.close()

    asyncio.run(run())


@pytest.mark.parametrize(("copied", "running"), [(None, 1000.0), (1000.0, None), (10.0, 1000.0)])
def test_a_copy_of_another_speed_is_refused(
    tmp_path: Path, copied: float | None, running: float | None
) -> None:
    async def run() -> None:
        one = await opened(tmp_path / "one.db", 1, time_scale=copied)
        await one.backup(str(tmp_path / "copy.db"))
        await one.close()
        engine = await opened(tmp_path / "a.db", 3, time_scale=running)
        with pytest.raises(InvalidInput, match="different speeds"):
            await engine.restore(str(tmp_path / "copy.db"))
        assert (await engine.report("c")).counts.decisions == 3
        await engine.close()

    asyncio.run(run())


def crashed(path: Path, copy: Path) -> None:
    """Copy a database as a crash would leave it: its newest records in the journal."""
    for ending in ("", "-wal"):
        shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
    assert Path(f"{copy}-wal").stat().st_size > 0


def files(folder: Path) -> set[str]:
    """Return the names in a folder, but for what a connection makes for itself."""
    return {one.name for one in folder.iterdir() if not one.name.endswith(("-shm", "-wal"))}


def test_what_is_in_the_journal_of_a_copy_is_restored_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        one = await opened(tmp_path / "one.db", 20)
        crashed(tmp_path / "one.db", tmp_path / "copy.db")
        await one.close()
        engine = await opened(tmp_path / "a.db", 3)
        with caplog.at_level(logging.INFO, "foretell"):
            assert (await engine.restore(str(tmp_path / "copy.db"))).head == 23
        assert (await engine.report("c")).counts.decisions == 20
        await engine.close()

    asyncio.run(run())
    assert last_seq(str(tmp_path / "a.db")) == 23
    (message,) = (one for one in caplog.messages if "restored" in one)
    kept = tmp_path / "a.db.before-restore"
    assert "the last record was 6 and is now 23" in message
    assert message.endswith(str(kept))
    assert last_seq(str(kept)) == 6


def test_a_copy_without_an_admin_key_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        connect(str(tmp_path / "copy.db"), write=True).close()
        engine = await opened(tmp_path / "a.db", 3)
        with pytest.raises(DamagedFile, match="its 0 records hold no admin key"):
            await engine.restore(str(tmp_path / "copy.db"))
        assert (await engine.report("c")).counts.decisions == 3
        assert files(tmp_path) == {"a.db", "a.db.lock", "copy.db"}
        await engine.close()

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
        engine = await opened(tmp_path / "a.db", 3)
        await engine.backup(str(tmp_path / "copy.db"))
        log = engine.runtime.log
        monkeypatch.setattr(backup, "connect", lambda path, **how: Full(connect(path, **how)))
        with pytest.raises(OSError, match="No space left") as raised:
            await engine.restore(str(tmp_path / "copy.db"))
        assert (raised.value.errno, raised.value.filename) == (errno.ENOSPC, str(tmp_path / "a.db"))
        assert engine.runtime.log is log
        await engine.decide("c", protocol.DecisionRequest())
        assert files(tmp_path) == {"a.db", "a.db.lock", "copy.db"}
        await engine.close()

    asyncio.run(run())


def test_a_copy_that_cannot_be_put_in_place_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: str) -> None:
        raise OSError(errno.EPERM, "no links here")

    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 3)
        await engine.backup(str(tmp_path / "copy.db"))
        await engine.decide("c", protocol.DecisionRequest())
        monkeypatch.setattr(os, "link", refuse)
        with pytest.raises(OSError, match="no links here"):
            await engine.restore(str(tmp_path / "copy.db"))
        await engine.decide("c", protocol.DecisionRequest())
        assert (await engine.report("c")).counts.decisions == 5
        assert files(tmp_path) == {"a.db", "a.db.lock", "copy.db"}
        await engine.close()

    asyncio.run(run())


def test_a_log_that_cannot_be_opened_after_a_restore_opens_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is tried again and again, and said once that it was in vain."""
    monkeypatch.setattr(engine_module, "REOPEN_SECONDS", 0.001)
    tries = 0

    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 3)
        await engine.backup(str(tmp_path / "copy.db"))
        await engine.decide("c", protocol.DecisionRequest())
        engine.maintenance.note_damage("record 3 is damaged")
        really = engine._open_log

        def fail_at_first() -> None:
            nonlocal tries
            tries += 1
            if tries < 20:
                raise apsw.FullError("database or disk is full")
            really()

        monkeypatch.setattr(engine, "_open_log", fail_at_first)
        with pytest.raises(LogClosed, match="disk is full"):
            await engine.restore(str(tmp_path / "copy.db"))
        for _ in range(10_000):
            await asyncio.sleep(0.001)
            if engine.health().status == "ok":
                break
        await engine.decide("c", protocol.DecisionRequest())
        assert (await engine.report("c")).counts.decisions == 4
        assert engine.maintenance.damage == []
        await engine.close()

    asyncio.run(run())
    assert tries == 20
    assert sum("still closed" in record for record in caplog.messages) == 1
    assert sum("open again" in record for record in caplog.messages) == 1


def test_two_restores_at_the_same_time_come_one_after_the_other(tmp_path: Path) -> None:
    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 3)
        await engine.backup(str(tmp_path / "copy.db"))
        copy = str(tmp_path / "copy.db")
        done = await asyncio.gather(engine.restore(copy), engine.restore(copy))
        assert [one.head for one in done] == [6, 6]
        assert engine.health().status == "ok"
        assert files(tmp_path) >= {"a.db.before-restore", "a.db.before-restore-2"}
        assert "a.db.part" not in files(tmp_path)
        await engine.close()

    asyncio.run(run())


def test_a_journal_that_was_left_behind_is_not_mixed_with_a_copy(tmp_path: Path) -> None:
    async def run() -> None:
        engine = await opened(tmp_path / "one.db", 20)
        await engine.backup(str(tmp_path / "copy.db"))
        crashed(tmp_path / "one.db", tmp_path / "a.db")
        await engine.close()

    asyncio.run(run())
    path = tmp_path / "a.db"
    path.unlink()
    part = restore.stage_copy(str(tmp_path / "copy.db"), str(path))
    assert restore.replace_database(part, str(path)) is None
    assert not Path(f"{path}-wal").exists()
    assert last_seq(str(path)) == 23


def test_a_damaged_journal_is_kept_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        engine = await opened(tmp_path / "one.db", 20)
        await engine.backup(str(tmp_path / "copy.db"))
        crashed(tmp_path / "one.db", tmp_path / "a.db")
        await engine.close()

    asyncio.run(run())
    path = tmp_path / "a.db"
    journal = Path(f"{path}-wal").read_bytes()
    monkeypatch.setattr(restore, "count_lost_transactions", lambda _: 2)
    part = restore.stage_copy(str(tmp_path / "copy.db"), str(path))
    kept = restore.replace_database(part, str(path))
    assert Path(f"{kept}-wal").read_bytes() == journal
    assert last_seq(str(path)) == 23
