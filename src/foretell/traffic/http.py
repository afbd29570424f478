"""A server reached over HTTP, by the wire of `foretell.client`."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from foretell.client import calls as wire
from foretell.client.transport import Awaited, Site
from foretell.traffic.service import Counts, Decision, Event, WrongAnswer, seconds

PATIENCE = 30.0
"""Seconds after which a request that gets no answer ends the traffic."""


class _Report(msgspec.Struct):
    counts: Counts


class HttpService:
    """A running server; a request that got lost is sent again, with the same ids."""

    def __init__(self, url: str, key: str | None) -> None:
        """Connect when first asked."""
        self._http = Awaited(Site.of(url, key))

    async def create(self, campaign: dict[str, Any]) -> None:
        """Make a campaign."""
        wire.read(await self._http.send(wire.new_campaign(campaign), PATIENCE), dict)

    async def decide(self, campaign: str, key: str) -> Decision:
        """Ask for a decision; the same key gives the same one."""
        call = wire.decision(campaign, None, None, key, None)
        answer = wire.read(await self._http.ask(call, PATIENCE), wire.Answer)
        return Decision(answer.decision_id, answer.action, seconds(answer.reward_due_at))

    async def report(self, events: Sequence[Event]) -> list[str]:
        """Hand in events, and give what became of each."""
        call = wire.batch([msgspec.json.encode(event) for event in events])
        receipts = wire.receipts(await self._http.ask(call, PATIENCE), len(events))
        for receipt, event in zip(receipts, events, strict=True):
            if receipt.status == "rejected":
                raise WrongAnswer(
                    f"the server rejected the event {event.event_id!r}: {receipt.detail}"
                )
        return [receipt.status for receipt in receipts]

    async def counts(self, campaign: str) -> Counts:
        """Ask what a campaign has taken in."""
        found = wire.read(await self._http.ask(wire.report(campaign), PATIENCE), _Report)
        return found.counts

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.close()
