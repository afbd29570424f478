"""What operators watch and no request should wait for: sizes, and what each campaign waits for.

Sizes and overdue rewards are measured in the background now and then, and kept. Whoever asks is
answered from memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import NamedTuple

from foretell.errors import ForetellError
from foretell.service.engine.runtime import Runtime
from foretell.service.engine.turns import in_thread
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.counters import LATEST
from foretell.service.reports.campaign_copy import CampaignCopy
from foretell.service.reports.freshness import freshness

logger = logging.getLogger("foretell.service")

MEASURE_SECONDS = 15.0
"""Seconds between two rounds of measuring."""
REST = 20.0
"""After each campaign the measuring rests for so many times as long as that has taken."""


class Overdue(NamedTuple):
    """What has stopped coming, though by all that is known it was due."""

    signal: bool = False
    reward: bool = False


NOTHING = Overdue()


class CampaignNumbers(NamedTuple):
    """One campaign in numbers, as they are now."""

    name: str
    status: str
    feedback: Mapping[str, int]
    """What this process has answered about its feedback, by verdict."""
    open_windows: Mapping[str, int]
    """Decisions whose window is open, by stage."""
    parked: int
    latest: Mapping[str, float]
    """When the last decision, signal and reward were recorded, in seconds; only those there are."""
    overdue: Overdue


class Measurements:
    """Numbers about the log and the campaigns of a running server."""

    def __init__(self, runtime: Runtime) -> None:
        """Measure nothing yet."""
        self.runtime = runtime
        self.stored_bytes = 0
        self._overdue: dict[int, Overdue] = {}

    async def measure_forever(self) -> None:
        """Measure again and again; what cannot be measured now keeps its number."""
        while True:
            try:
                await self.measure()
            except (ForetellError, OSError) as error:
                logger.debug("not measured: %s", error)
            await asyncio.sleep(MEASURE_SECONDS)

    async def measure(self) -> None:
        """Measure the log, and then each campaign that runs."""
        clock = asyncio.get_running_loop().time
        self.stored_bytes = await self.runtime.log.stored_bytes()
        for active in list(self.runtime.by_number.values()):
            began = clock()
            runs = active.config.status == "running" and active.damage is None
            self._overdue[active.number] = await _overdue(active) if runs else NOTHING
            await asyncio.sleep(REST * (clock() - began) if runs else 0.0)

    def campaigns(self) -> list[CampaignNumbers]:
        """Return every campaign in numbers."""
        return [
            CampaignNumbers(
                active.config.name,
                active.config.status,
                active.verdicts,
                _open_windows(active),
                active.campaign.counters.parked,
                _latest(active),
                self._overdue.get(active.number, NOTHING),
            )
            for active in self.runtime.by_number.values()
        ]


async def _overdue(active: ActiveCampaign) -> Overdue:
    found = await in_thread(freshness, CampaignCopy.of(active))
    return Overdue(found.signals_stopped, found.stopped)


def _open_windows(active: ActiveCampaign) -> dict[str, int]:
    """Return how many windows are open; where silence has no meaning, none ever is."""
    campaign = active.campaign
    stages = {"signal": 0, "reward": -1}
    return {
        name: campaign.decided - campaign.cursors[stage]
        if campaign.rules.stages[stage].waits
        else 0
        for name, stage in stages.items()
    }


def _latest(active: ActiveCampaign) -> dict[str, float]:
    moments = zip(LATEST, active.campaign.counters.latest, strict=True)
    return {name: at / 1e6 for name, at in moments if at >= 0}
