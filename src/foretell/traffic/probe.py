"""The first seconds of traffic: how fast the server's clock runs, and how long a round takes."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Coroutine, Iterable
from typing import Any, NamedTuple

from foretell.protocol import FeedbackItem
from foretell.traffic.batcher import EventBatcher
from foretell.traffic.plan import Plan
from foretell.traffic.service import DecisionService, WrongAnswer, reward_due

WARM_UP_SECONDS = 1.0
"""Seconds in which a server may still compile; they are not counted."""
PROBE_SECONDS = 1.0
"""Seconds in which rounds are timed."""
PROBE_WINDOW = 1.0
"""The windows of the probe's campaigns, in seconds of the server."""


class ServerSpeed(NamedTuple):
    """How fast a server is, as the probe found it."""

    clock_rate: float
    """Seconds of the server's clock in one second."""
    round_seconds: float
    """Seconds from a decision to the next, with as many runs as there will be: the median."""
    slow_round_seconds: float
    """What all but one in a hundred take at most."""


async def probe(service: DecisionService, batcher: EventBatcher, plan: Plan) -> ServerSpeed:
    """Play rounds in campaigns of their own, as many at one time as there will be runs."""
    signal = plan.signal_names()[plan.order()[-1]]
    names = [f"{plan.label}-probe-{number}" for number in range(min(plan.parallel, plan.runs))]
    for name in names:
        await service.create(plan.campaign(name, PROBE_WINDOW, PROBE_WINDOW))
    first, first_due = await _timed(service, names[0], "first")
    warm = time.monotonic() + WARM_UP_SECONDS
    took: list[float] = []

    async def play(name: str) -> None:
        number = 0
        while (begun := time.monotonic()) < warm + PROBE_SECONDS:
            decision = await service.decide(name, str(number))
            reward = FeedbackItem(
                decision.decision_id, f"reward-{number}", value=plan.scenario.scale.high
            )
            await batcher.send(
                [FeedbackItem(decision.decision_id, f"signal-{number}", signal=signal), reward]
            )
            if begun >= warm or number == 0:
                took.append(time.monotonic() - begun)
            number += 1

    await run_together(play(name) for name in names)
    last, last_due = await _timed(service, names[0], "last")
    clock_rate = (last_due - first_due) / (last - first)
    if clock_rate <= 0.0:
        raise WrongAnswer("the server's clock stands still: start the server on a new database")
    cuts = statistics.quantiles([*took, took[-1]], n=100, method="inclusive")
    return ServerSpeed(clock_rate, cuts[49], cuts[98])


async def _timed(service: DecisionService, campaign: str, key: str) -> tuple[float, float]:
    """Decide once; return when by our clock, and when its window closes by the server's."""
    sent = time.monotonic()
    decision = await service.decide(campaign, key)
    return (sent + time.monotonic()) / 2, reward_due(decision)


async def run_together(jobs: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run all of these; an error in one cancels the others and is raised as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
