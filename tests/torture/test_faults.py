"""A full or failing disk closes the log; nothing answered is lost, and it opens again by itself."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any
from unittest import mock

import apsw
import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.errors import LogClosed
from foretell.service.log.open import open_log
from foretell.service.log.sqlite import database
from foretell.service.log.sqlite.connections import Connections, open_connections
from tests.torture.disk import Disk
from tests.torture.faults import errors, failing, full_disk, quickly, really_full_disk, until

pytestmark = pytest.mark.slow


def test_a_full_disk_closes_the_log_until_there_is_room(folder: Path) -> None:
    totals = asyncio.run(full_disk(folder, seed=1))
    assert totals.violations == []
    assert totals.kills == 3


def test_the_system_may_refuse_larger_files_as_well(folder: Path) -> None:
    totals = asyncio.run(really_full_disk(folder, seed=2))
    assert totals.violations == []
    assert totals.kills == 3


def test_errors_of_every_kind_lose_nothing(folder: Path) -> None:
    totals = asyncio.run(errors(folder, seed=3, rounds=20))
    assert totals.violations == []
    assert totals.kills == 20


def test_a_log_that_is_closed_while_it_opens_again_writes_nothing_afterwards(folder: Path) -> None:
    under_way: list[str] = []

    def slow_open(*args: Any, **options: Any) -> Connections:
        under_way.append("begun")
        time.sleep(0.3)
        opened = open_connections(*args, **options)
        under_way.append("ended")
        return opened

    async def run() -> None:
        disk = Disk(folder / "live.db")
        with quickly():
            engine = await Engine.open(folder / "live.db", vfs=disk.name, compiled=False)
            with mock.patch.object(database, "open_connections", slow_open):
                disk.fault = failing("write", "-wal", 0, 1, apsw.IOError)
                with pytest.raises(LogClosed):
                    await engine.make_key(protocol.NewKey("key", ["read"]))
                assert await until(lambda: bool(under_way))
                await engine.close()
            assert under_way == ["begun", "ended"]
            engine = await Engine.open(folder / "live.db", vfs=disk.name, compiled=False)
            await engine.close()
        disk.unregister()

    asyncio.run(run())


def test_a_log_whose_last_commit_fails_is_not_opened_again(folder: Path) -> None:
    async def run() -> None:
        disk = Disk(folder / "live.db")
        with quickly():
            log = await open_log(str(folder / "live.db"), vfs=disk.name)
            disk.fault = failing("write", "-wal", 0, 10**9, apsw.IOError)
            await log.close()
            disk.fault = lambda *_: None
            await asyncio.sleep(0.1)
            assert log.closed == "the log is closed"
            log = await open_log(str(folder / "live.db"), vfs=disk.name)
            await log.close()
        disk.unregister()

    asyncio.run(run())
