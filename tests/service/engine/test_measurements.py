"""What is measured in the background: how large the log is, and what has stopped coming."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from foretell.service.engine import Engine
from foretell.service.engine.measurements import NOTHING, CampaignNumbers, Overdue
from foretell.service.log.errors import LogClosed
from tests.service.engine.test_maintenance import until
from tests.service.engine_driver import Served

HOUR = 3600.0


def measured(served: Served, name: str) -> CampaignNumbers:
    served.report(name)  # waits for the fold
    served.run(served.engine.measurements.measure())
    (found,) = [one for one in served.engine.campaign_numbers() if one.name == name]
    return found


def test_rewards_that_stop_are_overdue_and_a_quiet_campaign_is_not(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db", compiled=False) as served:
        for name in ("busy", "quiet"):
            served.create(name, policy="ucb", signal_window=60.0, reward_window=30 * 24 * HOUR)
        decisions = []
        for number in range(200):
            decisions.append(served.decide("busy").decision_id)
            served.pass_time(600.0)
            if 6 <= number < 100:  # an hour after its decision
                served.reward(decisions[number - 6], 1.0)
            if number == 100:
                assert measured(served, "busy").overdue == NOTHING
        found = measured(served, "busy")
        assert found.overdue == Overdue(signal=False, reward=True)
        assert found.open_windows == {"signal": 0, "reward": 200}
        assert measured(served, "quiet").overdue == NOTHING
        assert measured(served, "quiet").latest == {}
        served.run(served.engine.set_status("busy", "paused"))
        assert measured(served, "busy").overdue == NOTHING, "nothing is due while it is paused"


def test_the_size_of_the_log_is_known_soon_after_the_start(tmp_path: Path) -> None:
    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db", compiled=False)
        try:
            await until(lambda: engine.gauges()["database_bytes"] > 10_000)
        finally:
            await engine.close()

    asyncio.run(run())


def test_what_cannot_be_measured_now_keeps_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that cannot be read stops no measuring for good."""
    monkeypatch.setattr("foretell.service.engine.measurements.MEASURE_SECONDS", 0.01)

    async def run() -> None:
        engine = await Engine.open(tmp_path / "a.db", compiled=False)
        asked = 0

        async def fail_at_first() -> int:
            nonlocal asked
            asked += 1
            if asked < 3:
                raise LogClosed("the disk is away")
            return 77

        try:
            monkeypatch.setattr(engine.runtime.log, "stored_bytes", fail_at_first)
            await until(lambda: engine.gauges()["database_bytes"] == 77)
        finally:
            await engine.close()

    asyncio.run(run())
