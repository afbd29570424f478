"""A full or failing disk closes the log; nothing answered is lost, and it opens again by itself."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.torture.faults import errors, full_disk, really_full_disk

pytestmark = pytest.mark.slow


def test_a_full_disk_closes_the_log_until_there_is_room(folder: Path) -> None:
    totals = asyncio.run(full_disk(folder, seed=1))
    assert totals.violations == []
    assert totals.kills == 3


def test_a_real_file_system_may_be_full_as_well(folder: Path) -> None:
    totals = asyncio.run(really_full_disk(folder, seed=2))
    if totals is not None:  # where one may be mounted; the simulated one is full everywhere
        assert totals.violations == []
        assert totals.kills == 3


def test_errors_of_every_kind_lose_nothing(folder: Path) -> None:
    totals = asyncio.run(errors(folder, seed=3, rounds=20))
    assert totals.violations == []
    assert totals.kills == 20
