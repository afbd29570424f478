"""An engine without HTTP, as a service; and servers that ignore what they are sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from foretell import protocol
from foretell.service.engine import Engine


class EngineService:
    """Asks an engine in the same process."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def create(self, campaign: dict[str, Any]) -> None:
        await self.engine.create(msgspec.convert(campaign, protocol.NewCampaign))

    async def decide(self, campaign: str, key: str) -> protocol.DecisionAnswer:
        answer, _ = await self.engine.decide(campaign, protocol.DecisionRequest(decision_key=key))
        return answer

    async def report(self, events: Sequence[protocol.FeedbackItem]) -> list[str]:
        raw = [msgspec.Raw(msgspec.json.encode(event)) for event in events]
        receipts = await self.engine.batch(raw)
        assert all(receipt.status != "rejected" for receipt in receipts), receipts
        return [receipt.status for receipt in receipts]

    async def counts(self, campaign: str) -> protocol.ReportCounts:
        return (await self.engine.report(campaign)).counts

    async def verdict(
        self, campaign: str
    ) -> tuple[protocol.CampaignReport, protocol.ValidityReport]:
        return await self.engine.report(campaign), await self.engine.validity(campaign)


@asynccontextmanager
async def engine_service(path: Path, time_scale: float) -> AsyncIterator[EngineService]:
    """Open an engine on a new database, relaxed: the disk is not what is tested."""
    engine = await Engine.open(path, time_scale=time_scale, durability="relaxed")
    try:
        yield EngineService(engine)
    finally:
        await engine.close()
