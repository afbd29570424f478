"""Maintenance: campaigns are compiled with numba, saved, and rebuilt when they have stopped."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.policies.verbs import indices
from foretell.service.engine import Engine, maintenance
from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.snapshot import GRID
from tests.service.engine_driver import Served

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
    """An index policy and one that can only be asked to choose are not compiled alike."""

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db")
        await engine.create(LARGE)
        await until(lambda: compiled(engine.runtime.by_name["one"]))
        await engine.decide("one", protocol.DecisionRequest())
        await engine.patch("one", protocol.CampaignPatch(policy="cusum-ucb"))
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
            await engine.create(msgspec.structs.replace(LARGE, name=name))
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

    monkeypatch.setattr("foretell.sim.compiled.compiled_values", refuse)

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db")
        await engine.create(LARGE)
        active = engine.runtime.by_name["one"]
        await until(lambda: compiled(active))
        assert active.decider.compiled[type(active.campaign.state)] is indices
        await engine.decide("one", protocol.DecisionRequest())
        await engine.close()

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        "one cannot be compiled, and goes on without"
    ]


def test_states_age_only_while_there_is_something_newer(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.decide()
        served.pass_time(50.0)
        served.run(served.engine.settled())
        assert 50.0 <= served.engine.gauges()["state_age_seconds"] < 80.0
        served.save_states()
        served.pass_time(1000.0)
        served.run(served.engine.settled())
        assert served.engine.gauges()["state_age_seconds"] == 0.0
        served.decide()
        served.run(served.engine.settled())
        assert served.engine.gauges()["state_age_seconds"] > 1000.0, "the decision is not saved"


def test_states_are_saved_after_so_many_records_or_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "SAVE_RECORDS", 20)
    with Served(tmp_path / "a.db") as served:
        served.create()
        active = served.engine.runtime.by_name["c"]
        served.decide_many(18)
        served.run(served.engine.settled())
        served.engine.maintenance._let_states_be_saved()
        assert not active.save_due
        served.decide_many(2)
        served.run(served.engine.settled())
        served.engine.maintenance._let_states_be_saved()
        served.pass_time(0.1)
        served.run(served.engine.settled())
        assert (active.save_due, active.unsaved) == (False, 0)
        assert active.saved % GRID == 0, "where states are saved and compared"
        saved = served.run(served.engine.runtime.log.load_state(active.number))
        assert saved is not None
        assert saved.position == active.saved <= served.engine.runtime.log.head()
        served.engine.maintenance._saved_at -= 1.1 * maintenance.SAVE_SECONDS
        served.engine.maintenance._let_states_be_saved()
        assert not active.save_due, "there is nothing new"
        assert served.verify().damage == []
        assert [one.comparison for one in served.verify().campaigns] == ["same"]


def test_a_check_that_could_not_be_made_finds_no_damage_and_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    results = [
        LogClosed("there are too many open files"),
        OSError(24, "Too many open files"),
        MemoryError(),
        RuntimeError("can't start new thread"),
        Damaged("record", 7),
    ]

    def scrub(_: maintenance.Maintenance) -> list[str]:
        if results:
            raise results.pop(0)
        return []

    monkeypatch.setattr(maintenance.Maintenance, "_scrub", scrub)

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db", compiled=False, scrub_seconds=0.001)
        await until(lambda: bool(engine.maintenance.damage))
        assert [str(Damaged("record", 7))] == engine.maintenance.damage
        await engine.close()

    with caplog.at_level(logging.WARNING, "foretell"):
        asyncio.run(run())
    said = [one for one in caplog.messages if one.startswith("the log could not be checked")]
    assert len(said) == 4


def test_what_was_damaged_before_is_no_longer_said(tmp_path: Path) -> None:
    """A copy that is restored is checked, and takes the place of what was damaged."""
    with Served(tmp_path / "a.db", admin_key="ftk_the-key-of-this-test") as served:
        served.create()
        served.decide()
        copy = str(tmp_path / "copy.db")
        served.run(served.engine.backup(copy))
        served.engine.maintenance.note_damage("record 3 is damaged")
        assert served.engine.gauges()["damage"] == 1
        served.run(served.engine.restore(copy))
        assert served.engine.maintenance.damage == []
        assert served.engine.gauges()["damage"] == 0


def forget_decisions(served: Served) -> None:
    """Let a campaign read its decisions again when their windows close."""
    campaign = served.campaign()
    cache = campaign.cache
    for number in list(cache._by_number):
        del cache._by_rank[cache._by_number.pop(number).rank]
    campaign._next = [None] * len(campaign._next)


def test_a_campaign_that_has_stopped_goes_on_when_its_log_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(maintenance, "REBUILD_SECONDS", 0.02)
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=10, reward_window=100)
        served.decide_many(5)
        forget_decisions(served)
        log = served.engine.runtime.log

        async def nothing(*_: object) -> list[Any]:
            return []

        tried: list[None] = []

        def unreadable() -> None:
            tried.append(None)
            raise LogClosed("cannot be read")

        with monkeypatch.context() as broken:
            broken.setattr(log, "decisions_after", nothing)
            broken.setattr(log, "reader", unreadable)
            served.pass_time(20)
            with pytest.raises(Damaged, match="the decision of round 0 after 0 is missing: run"):
                served.report()
            with pytest.raises(Damaged, match="is missing"):
                served.decide()
            served.run(until(lambda: len(tried) > 1))
            active = served.engine.runtime.by_name["c"]
            assert active.damage is not None
            assert active.rebuilt is None
        served.run(until(lambda: active.damage is None))
        assert "c goes on, built again from the log: the decision of round 0" in caplog.text
        decided = served.decide()
        assert served.signal(decided.decision_id, "click") == "accepted"
        served.pass_time(200)
        assert served.report().counts.decisions == 6
        assert served.digest() == served.rebuilt().digest()
