"""A server that is killed keeps every promise it made; one that is broken is found out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.torture import web
from tests.torture.crash import CrashLoop

pytestmark = [pytest.mark.slow, pytest.mark.minutes]


def test_nothing_answered_is_lost_or_counted_twice_over_fifty_kills(folder: Path) -> None:
    totals = asyncio.run(CrashLoop(folder, seed=1).run(kills=50, most=1))
    assert totals.violations == []
    assert totals.forgotten == 0
    assert totals.kills >= 50
    assert totals.digests >= 100
    assert totals.acknowledged > 500
    assert totals.duplicates > 30
    assert totals.restores > 0
    assert totals.never() == []


def test_a_relaxed_server_loses_nothing_when_only_its_process_ends(folder: Path) -> None:
    totals = asyncio.run(CrashLoop(folder, seed=2, durability="relaxed").run(kills=12, most=1))
    assert totals.violations == []


@pytest.mark.parametrize(
    ("broken", "seen"),
    [
        ("answer-early", ("lost", "doubled", "counts", "state", "failed")),
        ("no-dedup", ("doubled",)),
        ("replay-twice", ("state", "counts")),
        ("skip-records", ("state", "counts", "failed")),
    ],
)
def test_a_broken_server_is_found_out(folder: Path, broken: str, seen: tuple[str, ...]) -> None:
    totals = asyncio.run(CrashLoop(folder, seed=3, broken=broken).run(kills=400, most=1))
    assert sum(totals.count(word) for word in seen) > 0


def test_foretell_serve_is_killed_fifty_times_over_http(folder: Path) -> None:
    totals = asyncio.run(web.run(folder, seed=1, kills=50))
    assert totals.violations == []
    assert totals.kills >= 50
    assert totals.acknowledged > 500
    assert totals.restores > 0
    assert totals.keys_in_order > 500
    assert totals.never() == []
