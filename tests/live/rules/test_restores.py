"""A copy put in place of a running database: whoever reads meanwhile is told, and nothing mixes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from foretell.errors import InvalidInput
from foretell.live import api, reading
from foretell.live.engine import Engine
from foretell.live.problems import LogClosed

CAMPAIGN = api.NewCampaign("c", ["a", "b"], ["none", "click"], "ucb")


async def opened(path: Path, decisions: int, **options: Any) -> Engine:
    engine = await Engine.open(path, compiled=False, **options)
    await engine.create(CAMPAIGN)
    await asyncio.gather(*(engine.decide("c", api.Ask()) for _ in range(decisions)))
    return engine


async def exported(engine: Engine) -> None:
    async for _ in engine.export("c"):
        await asyncio.sleep(0)


READS: dict[str, Callable[[Engine], Awaitable[Any]]] = {
    "delays": lambda engine: engine.delays("c"),
    "export": exported,
    "refold": lambda engine: engine.refold("c"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", READS)
def test_a_read_during_a_restore_ends_and_the_service_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(reading, "PAGE", 20)

    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 10)
        await engine.backup(str(tmp_path / "copy.db"))
        await asyncio.gather(*(engine.decide("c", api.Ask()) for _ in range(3000)))
        reader = asyncio.ensure_future(READS[name](engine))
        await asyncio.sleep(0)
        assert not reader.done()
        await engine.restore(str(tmp_path / "copy.db"))
        with pytest.raises(LogClosed):
            await asyncio.wait_for(reader, 60)
        assert engine.closed is None
        await engine.decide("c", api.Ask())
        assert (await engine.report("c")).counts.decisions == 11
        await engine.close()

    asyncio.run(run())


def test_a_failure_of_the_log_before_closes_nothing(tmp_path: Path) -> None:
    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 1)
        await engine.backup(str(tmp_path / "copy.db"))
        before = engine.log
        await engine.restore(str(tmp_path / "copy.db"))
        before.on_fail(OSError("the connection is closed"))
        assert engine.closed is None
        await engine.close()

    asyncio.run(run())


def test_what_was_damaged_before_is_no_longer_said(tmp_path: Path) -> None:
    async def run() -> None:
        engine = await opened(tmp_path / "a.db", 1)
        await engine.backup(str(tmp_path / "copy.db"))
        engine.note_damage("line 3 is damaged")
        await engine.restore(str(tmp_path / "copy.db"))
        assert engine.damage == []
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
