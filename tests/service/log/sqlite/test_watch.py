"""A disk that hangs: the log closes until it answers."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from foretell.service.log.errors import LogClosed
from foretell.service.log.open import open_log
from foretell.service.log.sqlite import database, watch
from tests.service.log.engines import decide, open_again
from tests.torture.disk import Disk


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "REOPEN_SECONDS", 0.01)
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.01)


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
