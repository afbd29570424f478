"""The demonstration is played by the server's time, however fast that goes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from foretell.protocol import DecisionAnswer, FeedbackItem
from foretell.traffic.demo import (
    A_DAY,
    DAY,
    DEMO_CAMPAIGNS,
    MOST_AT_ONCE,
    DemoCampaign,
    DemoPlayer,
)

BEGIN = 1_700_000_000.0
STOPS = next(one for one in DEMO_CAMPAIGNS if one.stops_after is not None)


class Told:
    """A service whose clock is told the time, and which keeps what it was sent."""

    def __init__(self, campaign: DemoCampaign) -> None:
        self.campaign, self.now = campaign, BEGIN
        self.made: list[dict[str, Any]] = []
        self.decided: list[float] = []
        self.rewards: list[float] = []

    async def create(self, campaign: dict[str, Any]) -> None:
        self.made.append(campaign)

    async def decide(self, campaign: str, key: str) -> DecisionAnswer:
        assert campaign == self.campaign.name
        self.decided.append(self.now)
        due = datetime.fromtimestamp(self.now + self.campaign.reward_window, UTC).isoformat()
        action = self.campaign.actions[len(self.decided) % 3]
        return DecisionAnswer(f"d{key}", action, 0.5, "ucb", due, "policy")

    async def report(self, events: Sequence[FeedbackItem]) -> list[str]:
        self.rewards += [self.now for event in events if event.value is not None]
        return ["accepted"] * len(events)


def played(campaign: DemoCampaign, step: float, days: float, seed: int = 1) -> Told:
    """Play some days in steps of so many seconds."""
    service, player = Told(campaign), DemoPlayer(campaign, seed, BEGIN)

    async def play() -> None:
        while service.now < BEGIN + days * DAY:
            service.now += step
            await player.play_until(service.now, service)

    asyncio.run(play())
    return service


@pytest.mark.parametrize("step", [60.0, 1080.0])
def test_a_day_has_its_decisions_in_steps_of_any_size(step: float) -> None:
    service = played(STOPS, step, 2.0)
    assert len(service.made) == 1
    assert abs(len(service.decided) - 2 * A_DAY) <= step * A_DAY / DAY + 1


def test_rewards_stop_by_the_time_of_the_server() -> None:
    service = played(STOPS, 1080.0, 7.0)
    assert STOPS.stops_after is not None
    stops = BEGIN + DAY * STOPS.stops_after
    assert stops - 0.1 * DAY < max(service.rewards) < stops + 1080.0
    assert max(service.decided) > stops + DAY


def test_what_a_slow_machine_did_not_ask_for_is_left_out() -> None:
    service, player = Told(STOPS), DemoPlayer(STOPS, 1, BEGIN)
    service.now += DAY
    asyncio.run(player.play_until(service.now, service))
    assert len(service.decided) == MOST_AT_ONCE
    service.now += DAY / A_DAY
    asyncio.run(player.play_until(service.now, service))
    assert len(service.decided) == MOST_AT_ONCE + 1


def test_a_campaign_is_not_made_before_its_time() -> None:
    service, player = Told(STOPS), DemoPlayer(STOPS, 1, BEGIN + DAY)
    asyncio.run(player.play_until(BEGIN, service))
    assert service.made == []
