"""The first seconds of traffic: how fast the server's clock runs, and how long a round takes."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

from foretell.traffic.batcher import Post
from foretell.traffic.plan import Plan
from foretell.traffic.service import Event, Service, WrongAnswer
from foretell.traffic.tasks import together

WARM_UP = 1.0
"""Seconds in which a server may still compile; they are not counted."""
SECONDS = 1.0
WINDOW = 1.0
"""The windows of the probe's campaigns, in seconds of the server."""


class Tempo(NamedTuple):
    """What the probe found."""

    speed: float
    """Seconds of the server's clock in one second."""
    round: float
    """Seconds from a decision to the next, with as many runs as there will be: the median."""
    slow_round: float
    """What all but one in a hundred take at most."""


async def probe(service: Service, post: Post, plan: Plan) -> Tempo:
    """Play rounds in campaigns of their own, as many at one time as there will be runs."""
    signal = plan.signal_names()[plan.order()[-1]]
    names = [f"{plan.label}-probe-{place}" for place in range(min(plan.parallel, plan.runs))]
    for name in names:
        await service.create(plan.campaign(name, WINDOW, WINDOW))
    first, first_due = await _timed(service, names[0], "first")
    warm = time.monotonic() + WARM_UP
    took: list[float] = []

    async def play(name: str) -> None:
        number = 0
        while (begun := time.monotonic()) < warm + SECONDS:
            decision = await service.decide(name, str(number))
            reward = Event(decision.id, f"reward-{number}", value=plan.scenario.scale.high)
            await post.send([Event(decision.id, f"signal-{number}", signal=signal), reward])
            if begun >= warm or number == 0:
                took.append(time.monotonic() - begun)
            number += 1

    await together(play(name) for name in names)
    last, last_due = await _timed(service, names[0], "last")
    speed = (last_due - first_due) / (last - first)
    if speed <= 0.0:
        raise WrongAnswer("the server's clock stands still: start the server on a new database")
    cuts = statistics.quantiles([*took, took[-1]], n=100, method="inclusive")
    return Tempo(speed, cuts[49], cuts[98])


async def _timed(service: Service, campaign: str, key: str) -> tuple[float, float]:
    """Decide once: gives when by our clock, and when its window closes by the server's."""
    sent = time.monotonic()
    decision = await service.decide(campaign, key)
    return (sent + time.monotonic()) / 2, decision.due
