"""After a power cut everything that was answered is there, and only a server that syncs does it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from foretell.service.engine import waiting
from tests.torture.faults import untrusted_syncs
from tests.torture.power_cuts import PowerCuts, without_sync

pytestmark = pytest.mark.slow


def test_nothing_answered_is_lost_when_all_or_some_unsynced_writes_are(folder: Path) -> None:
    totals = asyncio.run(PowerCuts(folder, seed=1).run(cuts=50, most=1))
    assert totals.violations == []
    assert totals.forgotten == 0
    assert totals.acknowledged > 1000
    assert set(totals.by_kind) == {"all", "sectors", "tail", "none"}
    assert totals.never("restore") == []


def test_a_relaxed_server_loses_decisions_alone_and_parks_their_feedback(folder: Path) -> None:
    power = PowerCuts(folder, seed=2, durability="relaxed")
    for cuts in range(40, 401, 40):  # how many are lost is a matter of moments
        totals = asyncio.run(power.run(cuts=cuts, most=1))
        if totals.lost_decisions > 0:
            break
    assert totals.violations == []
    assert totals.lost_decisions > 0


def test_feedback_that_is_taken_for_another_decision_is_found_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none_of_them(*_: Any) -> set[int]:
        return set()

    monkeypatch.setattr(waiting, "_missing", none_of_them)
    totals = asyncio.run(PowerCuts(folder, seed=3, durability="relaxed").run(cuts=400, most=1))
    assert totals.count("attributed") > 0


def test_a_server_that_does_not_sync_is_found_out(folder: Path) -> None:
    with without_sync():
        totals = asyncio.run(PowerCuts(folder, seed=4).run(cuts=400, most=1))
    assert totals.violations


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_what_a_failed_sync_left_in_memory_is_not_trusted(folder: Path, durability: str) -> None:
    totals = asyncio.run(untrusted_syncs(folder, seed=5, cuts=20, durability=durability))
    assert totals.violations == []
    cuts = PowerCuts(folder, seed=6, durability=durability)
    cuts.failing = 1.0
    assert asyncio.run(cuts.run(cuts=10, most=1)).violations == []
