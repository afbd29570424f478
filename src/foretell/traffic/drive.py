"""All runs of a plan against one server, several at one time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from foretell.traffic.batcher import EventBatcher
from foretell.traffic.pace import Timing, choose_timing
from foretell.traffic.plan import Plan
from foretell.traffic.probe import probe, run_together
from foretell.traffic.run import LiveRun, RunPlayer
from foretell.traffic.service import DecisionService


class Traffic:
    """The traffic of a plan; it holds what is finished at any moment."""

    def __init__(self, plan: Plan) -> None:
        """Prepare; nothing is sent yet."""
        self.plan = plan
        self.runs: list[LiveRun] = []
        self.timing = Timing(1.0, 0.0, 1.0, 1.0)
        self.seconds = 0.0

    async def drive(self, service: DecisionService, advance: Callable[[int], None]) -> None:
        """Play every run; `advance` is called after each round."""
        begun = time.monotonic()
        plan, batcher = self.plan, EventBatcher(service)
        self.timing = choose_timing(plan, await probe(service, batcher, plan))
        waiting = iter(range(plan.runs))
        workers = min(plan.parallel, plan.runs)

        async def some_runs(worker: int) -> None:
            # Workers start a part of a round apart, so that requests do not come all at once.
            await asyncio.sleep(
                self.timing.round_length / self.timing.clock_rate * worker / workers
            )
            for number in waiting:
                player = RunPlayer(service, batcher, plan, self.timing, number)
                self.runs.append(await player.play(advance))
                self.seconds = time.monotonic() - begun

        await run_together(some_runs(worker) for worker in range(workers))
