"""Four campaigns for a dashboard: a change, a misleading signal, rewards that stop, a start.

Each is a planted truth that is played for as long as somebody looks: so many decisions a second,
each with its signal at once and its reward within its window, by the server's own fast clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from time import monotonic
from typing import Any, NamedTuple

from foretell.protocol import FeedbackItem
from foretell.protocol.fields import SILENT
from foretell.sim.streams import NOISE_STREAM, WORLD_STREAM, random_stream
from foretell.traffic.service import DecisionService
from foretell.traffic.truths import EARLY_SHARE, SIGNALS, TRUTHS, WINDOW, Truth, shown
from foretell.worlds.world import answer, before_round_zero, move_to

TICK = 0.2
"""Seconds between two bursts of decisions."""
MOST_TICKS = 5
"""A burst makes up for at most so many that came late."""
FAULTS_STREAM = 2000
"""The kind of random stream that draws how late a reward is."""
CHANGE_AT, STOP_AT = 900, 1000
"""The decision from which on the laws are others, and the one after which no reward comes."""
HOLDOUT = 0.25
"""More than a product would hold out: in a demonstration the uplift is to be seen soon."""
SIGNAL_WINDOW, REWARD_WINDOW, LONG_WINDOW = 1800.0, 3600.0, 3 * 86_400.0
"""Seconds of the server's clock; the last is that of the campaign that has only begun."""


class DemoCampaign(NamedTuple):
    """One campaign: what is planted in it, and what its actions and rewards are called."""

    name: str
    truth: Truth
    actions: Sequence[str]
    reward_name: str
    reward_window: float = REWARD_WINDOW

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
        TRUTHS["change"]._replace(settled=2 * CHANGE_AT),
        ("thrillers", "science-fiction", "classics"),
        "readings",
    ),
    DemoCampaign(
        "app-feed", TRUTHS["clickbait"], ("long-read", "clickbait", "interview"), "finished stories"
    ),
    DemoCampaign(
        "checkout",
        TRUTHS["stopped"]._replace(settled=STOP_AT + 300),
        ("gift-wrap", "audiobook", "bookmark"),
        "add-ons",
    ),
    DemoCampaign(
        "gift-finder",
        TRUTHS["valid"],
        ("puzzles", "board-games", "cookbooks"),
        "orders",
        LONG_WINDOW,
    ),
)
"""A change half-way; a signal that misleads; rewards that stop; and one that has only begun."""


class DemoPlayer:
    """Plays one campaign until it is cancelled."""

    def __init__(
        self, service: DecisionService, campaign: DemoCampaign, seed: int, time_scale: float
    ) -> None:
        """Prepare; the campaign is made when it is played."""
        self._service, self._campaign = service, campaign
        self._label = f"{campaign.name}-{seed}"
        self._seconds = campaign.reward_window / time_scale
        truth = campaign.truth
        self._world = truth.scenario().draw(truth.rounds, random_stream(seed, 0, WORLD_STREAM))
        self._law = before_round_zero(self._world)
        self._noise = random_stream(seed, 0, NOISE_STREAM)
        self._chance = random_stream(seed, 0, FAULTS_STREAM)
        self._due: list[tuple[float, int, FeedbackItem]] = []
        """Rewards, by when they come."""
        self.played = 0

    async def play(self, rate: float, advance: Callable[[int], None]) -> None:
        """Make the campaign, and play so many rounds a second; `advance` is called after some."""
        await self._service.create(self._campaign.settings())
        elapsed = TICK
        while True:
            began = monotonic()
            events = await self._decide(max(1, round(rate * min(elapsed, MOST_TICKS * TICK))))
            while self._due and self._due[0][0] <= monotonic():
                events.append(heappop(self._due)[2])
            if events:
                await self._service.report(events)
            advance(self.played)
            await asyncio.sleep(max(0.0, began + TICK - monotonic()))
            elapsed = monotonic() - began

    async def _decide(self, rounds: int) -> list[FeedbackItem]:
        """Play some rounds at once, and return the signals that are seen at once."""
        keys = [f"{self._label}-{self.played + number}" for number in range(rounds)]
        name, names = self._campaign.name, list(self._campaign.actions)
        decisions = await asyncio.gather(*(self._service.decide(name, key) for key in keys))
        signals = []
        for decision, key in zip(decisions, keys, strict=True):
            move_to(self._world, self._law, min(self.played, self._campaign.truth.rounds - 1))
            action = names.index(decision.action)
            outcome, reward, _ = answer(self._world, self._law, action, self._noise)
            signal = SIGNALS[shown(outcome)]
            if signal != SILENT:
                signals.append(FeedbackItem(decision.decision_id, f"{key}-s", signal=signal))
            stops = self._campaign.truth.stops_at
            if reward > 0.0 and (stops is None or self.played < stops - WINDOW):
                late = EARLY_SHARE * self._seconds * float(self._chance.random())
                event = FeedbackItem(decision.decision_id, f"{key}-r", value=float(reward))
                heappush(self._due, (monotonic() + late, self.played, event))
            self.played += 1
        return signals


async def play_demo(
    service: DecisionService,
    time_scale: float,
    rate: float,
    seed: int,
    advance: Callable[[str, int], None],
) -> None:
    """Play all four campaigns until this is cancelled; `advance` gets a name and its rounds."""
    async with asyncio.TaskGroup() as group:
        for number, campaign in enumerate(DEMO_CAMPAIGNS):
            player = DemoPlayer(service, campaign, seed + number, time_scale)

            def note(played: int, name: str = campaign.name) -> None:
                advance(name, played)

            group.create_task(player.play(rate, note))
