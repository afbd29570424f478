"""Wherever a call into the database fails, nothing answered is lost, and a start mends it."""

from __future__ import annotations

import pytest

from tests.simulation.io_errors import PHASES, Phase, calls_that_fail

pytestmark = pytest.mark.slow
EVERY = 10
LEAST = {"start": 15, "serving": 15, "restore": 20}
"""Calls of each phase that must have failed, so that a phase without calls is noticed."""


@pytest.mark.parametrize("phase", PHASES)
def test_every_tenth_call_may_fail(phase: Phase) -> None:
    tried = 0
    for at, made in calls_that_fail(phase, EVERY):
        assert made.totals.violations == [], f"call {at} of {phase}, lasting: {made.lasting}"
        tried += not made.lasting
    assert tried >= LEAST[phase]
