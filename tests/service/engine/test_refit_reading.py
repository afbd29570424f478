"""A long refit goes on compiled, and comes to the same bytes."""

from __future__ import annotations

import asyncio
import random

import pytest

from foretell.service.engine import refit_reading
from foretell.service.engine.refit_reading import RefitReading
from foretell.service.engine.turns import TurnsBetweenRequests
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import SLOTS
from foretell.service.model.snapshot import pack
from foretell.sim import replayer
from tests.service.model.test_refit_columns import SECOND, config_of, drawn_log


@pytest.fixture(autouse=True)
def log_engine() -> None:
    """Need no log."""


@pytest.mark.compiled
@pytest.mark.parametrize("policy", ["nsd-adaptive", "exp3s"])
def test_a_refit_that_is_compiled_on_its_way_comes_to_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """A policy that is told propensities is never compiled."""
    for name in ("COMPILED_DECISIONS", "MANY_DECISIONS"):
        monkeypatch.setattr(refit_reading, name, 100)
        monkeypatch.setattr(replayer, name, 100)
    config = config_of(policy, "default", "default")
    decisions = drawn_log(random.Random(5), plain=False)  # noqa: S311
    position = decisions[-1].number + 5 * SECOND * SLOTS
    campaign = Campaign(config)

    async def read() -> RefitReading:
        reading = RefitReading(campaign, position, TurnsBetweenRequests())
        for first in range(0, len(decisions), 50):
            reading.read(decisions[first : first + 50])
            await reading.compile_if_long()
        return reading

    reading = asyncio.run(read())
    campaign.end_refit(position)
    assert pack(campaign) == pack(Campaign.refit(config, decisions, position))
    assert (reading._reader is not None) == (policy == "nsd-adaptive")


def test_a_short_refit_is_not_compiled() -> None:
    assert replayer.refit_reader(None, replayer.COMPILED_DECISIONS - 1) is None
