"""Three deciders on one PostgreSQL under faults: nothing acknowledged is lost or there twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.torture import decider_faults

pytestmark = [pytest.mark.slow, pytest.mark.minutes]
EACH = 10
RECORDS = 5000


def test_whatever_happens_to_deciders_and_database_the_promise_holds(tmp_path: Path) -> None:
    totals = asyncio.run(decider_faults.run(tmp_path, seed=1, times=EACH, records=RECORDS))
    assert not totals.violations, "\n".join(totals.violations)
    assert set(totals.by_kind.values()) == {EACH}
    assert totals.kills == 9 * EACH
    assert totals.records >= RECORDS
    assert totals.digests == 3 * 4, "every campaign, on every decider"
    assert totals.forgotten == 0
    assert all(totals.dealt[word] for word in ("sealings", "takeovers", "retries")), totals.dealt
