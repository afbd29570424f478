"""Four campaigns for a dashboard: a change, a misleading signal, rewards that stop, a start.

Each is a planted truth that is played by the server's time: so many decisions a day, each with its
signal at once and its reward within its window. What has happened by a time of the server depends
on that time alone, not on how fast the machine is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from heapq import heappop, heappush
from time import monotonic
from typing import Any, NamedTuple

from foretell.protocol import FeedbackItem
from foretell.protocol.fields import SILENT
from foretell.sim.streams import NOISE_STREAM, WORLD_STREAM, random_stream
from foretell.traffic.service import DecisionService, reward_due
from foretell.traffic.truths import EARLY_SHARE, SIGNALS, TRUTHS, Truth, shown
from foretell.worlds.world import answer, before_round_zero, move_to

DAY = 86_400.0
A_DAY = 300
"""Decisions a day of each campaign."""
PAST_DAYS = 16.0
"""Days that have passed when the demonstration is shown."""
CHANGE_DAY, STOP_DAY = 9.0, 5.0
"""Days of a campaign after which its laws are others, and after which no reward comes."""
SIGNAL_WINDOW, REWARD_WINDOW, LONG_WINDOW = 3600.0, 2 * DAY, 7 * DAY
"""Seconds of the server's clock; the last is that of the campaign that has only begun."""
HOLDOUT = 0.25
"""More than a product would hold out: in a demonstration the uplift is to be seen soon."""
MOST_AT_ONCE = 20
"""Decisions that a campaign asks for at once: what a slow machine did not ask for is left out."""
TICK = 0.5
"""Seconds between two steps, when the server's clock goes by itself."""
FAULTS_STREAM = 2000
"""The kind of random stream that draws how late a reward is."""


class DemoCampaign(NamedTuple):
    """One campaign: what is planted in it, how old it is, and what its actions are called."""

    name: str
    truth: Truth
    days: float
    """Its age in days, when the demonstration is shown."""
    actions: Sequence[str]
    reward_name: str
    reward_window: float = REWARD_WINDOW
    stops_after: float | None = None
    """Rewards come until it is so many days old; None: always."""

    def settings(self) -> dict[str, Any]:
        """Return the campaign as the service is asked to make it."""
        return self.truth.campaign() | {
            "name": self.name,
            "actions": list(self.actions),
            "reward_name": self.reward_name,
            "signal_window": SIGNAL_WINDOW,
            "reward_window": self.reward_window,
            "explore": 0.02,
            "holdout": HOLDOUT,
        }


DEMO_CAMPAIGNS = (
    DemoCampaign(
        "bookshop-front",
        TRUTHS["change"]._replace(settled=round(2 * CHANGE_DAY * A_DAY)),
        PAST_DAYS,
        ("thrillers", "science-fiction", "classics"),
        "readings",
    ),
    DemoCampaign(
        "app-feed",
        TRUTHS["clickbait"],
        8.0,
        ("long-read", "clickbait", "interview"),
        "finished stories",
    ),
    DemoCampaign(
        "checkout",
        TRUTHS["valid"],
        7.0,
        ("gift-wrap", "audiobook", "bookmark"),
        "add-ons",
        stops_after=STOP_DAY,
    ),
    DemoCampaign(
        "gift-finder",
        TRUTHS["valid"],
        1.0,
        ("puzzles", "board-games", "cookbooks"),
        "orders",
        LONG_WINDOW,
    ),
)
"""A change half-way; a signal that misleads; rewards that stop; and one that has only begun."""


class DemoPlayer:
    """Plays one campaign, up to one time of the server after the other."""

    def __init__(self, campaign: DemoCampaign, seed: int, begin: float) -> None:
        """Prepare; the campaign is made at `begin`, in seconds of the server."""
        self.campaign = campaign
        self.played = 0
        self._label = f"{campaign.name}-{seed}"
        truth = campaign.truth
        self._world = truth.scenario().draw(truth.rounds, random_stream(seed, 0, WORLD_STREAM))
        self._law = before_round_zero(self._world)
        self._noise = random_stream(seed, 0, NOISE_STREAM)
        self._chance = random_stream(seed, 0, FAULTS_STREAM)
        self._begin = self._next = begin
        """When it begins, and when its next decision is due."""
        self._made = False
        self._due: list[tuple[float, int, FeedbackItem]] = []
        """Rewards, by when they come."""

    async def play_until(self, now: float, service: DecisionService) -> float:
        """Play what is due by a time of the server; return the server's time after it."""
        if now < self._begin:
            return now
        if not self._made:
            await service.create(self.campaign.settings())
            self._made = True
        rounds = int((now - self._next) * A_DAY / DAY) + 1 if now >= self._next else 0
        self._next += rounds * DAY / A_DAY
        events, now = await self._decide(min(rounds, MOST_AT_ONCE), now, service)
        while self._due and self._due[0][0] <= now:
            events.append(heappop(self._due)[2])
        if events:
            await service.report(events)
        return now

    async def _decide(
        self, rounds: int, now: float, service: DecisionService
    ) -> tuple[list[FeedbackItem], float]:
        """Play some rounds at once; return the signals seen at once, and the server's time."""
        campaign, names = self.campaign, list(self.campaign.actions)
        keys = [f"{self._label}-{self.played + number}" for number in range(rounds)]
        decisions = await asyncio.gather(*(service.decide(campaign.name, key) for key in keys))
        signals = []
        for decision, key in zip(decisions, keys, strict=True):
            move_to(self._world, self._law, min(self.played, campaign.truth.rounds - 1))
            action = names.index(decision.action)
            outcome, reward, _ = answer(self._world, self._law, action, self._noise)
            signal = SIGNALS[shown(outcome)]
            if signal != SILENT:
                signals.append(FeedbackItem(decision.decision_id, f"{key}-s", signal=signal))
            now = max(now, reward_due(decision) - campaign.reward_window)
            comes = now + EARLY_SHARE * campaign.reward_window * float(self._chance.random())
            if reward > 0.0 and comes < self._last_reward():
                event = FeedbackItem(decision.decision_id, f"{key}-r", value=float(reward))
                heappush(self._due, (comes, self.played, event))
            self.played += 1
        return signals, now

    def _last_reward(self) -> float:
        """Return the time of the server from which on no reward comes."""
        stops = self.campaign.stops_after
        return float("inf") if stops is None else self._begin + DAY * stops


def demo_players(seed: int, end: float) -> list[DemoPlayer]:
    """Return a player for each campaign, which is as old as it is to be at a time of the server."""
    return [
        DemoPlayer(campaign, seed + number, end - DAY * campaign.days)
        for number, campaign in enumerate(DEMO_CAMPAIGNS)
    ]


async def play_on(
    players: Sequence[DemoPlayer], service: DecisionService, now: float, time_scale: float
) -> None:
    """Play by the server's own clock, which goes so many times as fast, until cancelled."""
    while True:
        began = monotonic()
        for player in players:
            now = max(now, await player.play_until(now, service))
        await asyncio.sleep(TICK)
        now += (monotonic() - began) * time_scale
