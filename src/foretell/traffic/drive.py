"""All runs of a plan against one server, several at one time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from foretell.traffic.batcher import Post
from foretell.traffic.pace import Timing, timing
from foretell.traffic.plan import Plan
from foretell.traffic.probe import probe
from foretell.traffic.run import LiveRun, Player
from foretell.traffic.service import Service
from foretell.traffic.tasks import together


class Traffic:
    """The traffic of a plan; it holds what is finished at any moment."""

    def __init__(self, plan: Plan) -> None:
        """Prepare; nothing is sent yet."""
        self.plan = plan
        self.runs: list[LiveRun] = []
        self.timing = Timing(1.0, 0.0, 1.0, 1.0)
        self.seconds = 0.0

    async def drive(self, service: Service, advance: Callable[[int], None]) -> None:
        """Play every run; `advance` is told of each round that is played."""
        begun = time.monotonic()
        plan, post = self.plan, Post(service)
        self.timing = timing(plan, await probe(service, post, plan))
        waiting = iter(range(plan.runs))
        places = min(plan.parallel, plan.runs)

        async def some_runs(place: int) -> None:
            # A part of a round apart, so that requests do not come all at once.
            await asyncio.sleep(self.timing.stretch / self.timing.speed * place / places)
            for number in waiting:
                player = Player(service, post, plan, self.timing, number)
                self.runs.append(await player.play(advance))
                self.seconds = time.monotonic() - begun

        await together(some_runs(place) for place in range(places))
