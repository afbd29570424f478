"""The past of the demonstration: weeks that are played into a new database in some seconds.

The engine itself decides and takes in what comes of it, by a clock that is told the time. So every
record is there as a server would have written it, and the demonstration begins with campaigns of
which there is something to say, on however slow a machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.clock import SECOND, ToldClock
from foretell.service.log.open import open_log
from foretell.traffic.demo import DAY, PAST_DAYS, DemoPlayer, demo_players

STEP = 1080.0
"""Seconds of the past that are played at once."""


class EngineService:
    """An engine as the service that traffic is played against: no network is between."""

    def __init__(self, engine: Engine) -> None:
        """Play against an engine."""
        self._engine = engine

    async def create(self, campaign: dict[str, Any]) -> None:
        """Make a campaign."""
        await self._engine.create(msgspec.convert(campaign, protocol.NewCampaign))

    async def decide(self, campaign: str, key: str) -> protocol.DecisionAnswer:
        """Ask for a decision."""
        asked = protocol.DecisionRequest(decision_key=key)
        return (await self._engine.decide(campaign, asked))[0]

    async def report(self, events: Sequence[protocol.FeedbackItem]) -> list[str]:
        """Report events, and return the status of each."""
        raw = [Raw(msgspec.json.encode(event)) for event in events]
        return [receipt.status for receipt in await self._engine.batch(raw)]


async def play_past(
    path: str, key: str, seed: int, time_scale: float, advance: Callable[[float], None]
) -> tuple[list[DemoPlayer], float]:
    """Play the past into a new database; return its players, and the time at which they stopped.

    `advance` gets the share that is played. The clock of the database goes on meanwhile, at its
    own speed: the past ends where it has come to.
    """
    clock = ToldClock(time_scale)
    end = clock.real_now() / SECOND
    begin = end - PAST_DAYS * DAY
    clock.time = round(begin * SECOND)
    log = await open_log(path, durability="relaxed", clock=clock)
    engine = await Engine.open(log, admin_key=key, compiled=False)
    service, players = EngineService(engine), demo_players(seed, end)
    now = begin
    try:
        while now < clock.real_now() / SECOND:
            now += STEP
            clock.time = round(now * SECOND)
            await asyncio.gather(*(player.play_until(now, service) for player in players))
            await engine.settled()
            advance(min(1.0, (now - begin) / (end - begin)))
    finally:
        await engine.close()
    return players, now
