"""Maintenance: large campaigns are compiled where numba is installed; snapshots are kept."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from foretell import protocol
from foretell.policies.draw import share_writer
from foretell.service.engine import Engine, maintenance
from foretell.service.model.active_campaign import ActiveCampaign

LARGE = protocol.NewCampaign("one", [f"a{n}" for n in range(40)], ["none", "x", "y"], "nsd-ucrl2")


def compiled(active: ActiveCampaign) -> bool:
    return type(active.campaign.state) in active.decider.compiled


async def until(true: Callable[[], bool]) -> None:
    for _ in range(6000):
        if true():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


@pytest.mark.compiled
def test_a_large_campaign_is_compiled_before_it_is_ready_and_again_for_another_policy(
    tmp_path: Path,
) -> None:
    """An index policy and one that samples are not compiled alike."""

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db")
        await engine.create(LARGE)
        await until(lambda: compiled(engine.runtime.by_name["one"]))
        await engine.decide("one", protocol.DecisionRequest())
        await engine.patch("one", protocol.CampaignPatch(policy="nsd-psrl"))
        await engine.decide("one", protocol.DecisionRequest())
        await until(lambda: compiled(engine.runtime.by_name["one"]))
        await engine.decide("one", protocol.DecisionRequest())
        await engine.close()
        again = await Engine.open(tmp_path / "a.db")
        assert compiled(again.runtime.by_name["one"])
        await again.decide("one", protocol.DecisionRequest())
        await again.close()

    asyncio.run(run())


def test_without_numba_it_says_once_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "foretell.sim.compiled", None)

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db")
        for name in ("one", "two"):
            await engine.create(protocol.NewCampaign(name, LARGE.actions, LARGE.signals))
        await asyncio.sleep(5 * maintenance.TICK_SECONDS)
        await engine.decide("two", protocol.DecisionRequest())
        await engine.close()

    with caplog.at_level(logging.WARNING, "foretell.service"):
        asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        "one would choose faster with numba: pip install 'foretell[lab]'"
    ]


@pytest.mark.compiled
def test_a_policy_that_cannot_be_compiled_goes_on_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(_: object) -> None:
        raise TypeError("this is not for numba")

    monkeypatch.setattr("foretell.sim.compiled.compiled_choices", refuse)

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db")
        await engine.create(LARGE)
        active = engine.runtime.by_name["one"]
        await until(lambda: compiled(active))
        state = active.campaign.state
        assert active.decider.compiled[type(state)] is share_writer(state)
        await engine.decide("one", protocol.DecisionRequest())
        await engine.close()

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        "one cannot be compiled, and goes on without"
    ]


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
