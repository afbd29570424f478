"""What the service does beside answering."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from foretell import protocol
from foretell.service.engine import Engine, maintenance


async def _ages(path: Path) -> tuple[float, float]:
    engine = await Engine.open(path, compiled=False)
    try:
        await engine.create(protocol.NewCampaign("c", ["a", "b"], ["none", "click"]))
        engine.maintenance.snapshot_time -= 50.0
        await asyncio.sleep(0.1)
        waiting = engine.gauges()["snapshot_age_seconds"]
        engine.maintenance.keep_snapshots()
        engine.maintenance.snapshot_time -= 1000.0
        await asyncio.sleep(0.1)
        return waiting, engine.gauges()["snapshot_age_seconds"]
    finally:
        await engine.close()


def test_snapshots_age_only_while_there_is_something_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "TICK_SECONDS", 0.001)
    waiting, idle = asyncio.run(_ages(tmp_path / "a.db"))
    assert waiting >= 50.0
    assert idle < 50.0
