"""The service that traffic is played against: what is asked of it, and how over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from foretell.client.address import ServiceAddress
from foretell.client.async_transport import AsyncTransport
from foretell.client.calls import (
    ApiCall,
    batch_call,
    campaign_path,
    decision_call,
    new_campaign_call,
    read,
    read_receipts,
    report_call,
)
from foretell.errors import ForetellError
from foretell.protocol import (
    CampaignReport,
    DecisionAnswer,
    FeedbackItem,
    ReportCounts,
    ValidityReport,
)

TRAFFIC_TIMEOUT = 30.0
"""Seconds after which a request that gets no answer ends the traffic."""


class WrongAnswer(ForetellError):
    """The server answered what it may not answer."""


class DecisionService(Protocol):
    """A decision service, however it is reached."""

    async def create(self, campaign: dict[str, Any]) -> None:
        """Make a campaign."""

    async def decide(self, campaign: str, key: str) -> DecisionAnswer:
        """Ask for a decision; the same key leads to the same one."""

    async def report(self, events: Sequence[FeedbackItem]) -> list[str]:
        """Report events, and return the status of each."""


class ReportingService(DecisionService, Protocol):
    """A decision service that also says what has come of it."""

    async def counts(self, campaign: str) -> ReportCounts:
        """Ask what a campaign has taken in."""

    async def verdict(self, campaign: str) -> tuple[CampaignReport, ValidityReport]:
        """Ask for the report of a campaign, and for the verdict on its signal."""


class HttpService:
    """A running server; a request that got lost is sent again, with the same ids."""

    def __init__(self, url: str, key: str | None) -> None:
        """Connect when first asked."""
        self._transport = AsyncTransport(ServiceAddress.of(url, key))

    async def create(self, campaign: dict[str, Any]) -> None:
        """Make a campaign."""
        read(await self._transport.send(new_campaign_call(campaign), TRAFFIC_TIMEOUT), dict)

    async def decide(self, campaign: str, key: str) -> DecisionAnswer:
        """Ask for a decision; the same key leads to the same one."""
        call = decision_call(campaign, None, None, key, None)
        result = await self._transport.send_with_retries(call, TRAFFIC_TIMEOUT)
        return read(result, DecisionAnswer)

    async def report(self, events: Sequence[FeedbackItem]) -> list[str]:
        """Report events, and return the status of each."""
        call = batch_call([msgspec.json.encode(event) for event in events])
        result = await self._transport.send_with_retries(call, TRAFFIC_TIMEOUT)
        receipts = read_receipts(result, len(events))
        for receipt, event in zip(receipts, events, strict=True):
            if receipt.status == "rejected":
                raise WrongAnswer(
                    f"the server rejected the event {event.event_id!r}: {receipt.detail}"
                )
        return [receipt.status for receipt in receipts]

    async def counts(self, campaign: str) -> ReportCounts:
        """Ask what a campaign has taken in."""
        result = await self._transport.send_with_retries(report_call(campaign), TRAFFIC_TIMEOUT)
        return read(result, CampaignReport).counts

    async def verdict(self, campaign: str) -> tuple[CampaignReport, ValidityReport]:
        """Ask for the report of a campaign, and for the verdict on its signal."""
        calls = (report_call(campaign), ApiCall("GET", f"{campaign_path(campaign)}/validity"))
        report, validity = [
            await self._transport.send_with_retries(call, TRAFFIC_TIMEOUT) for call in calls
        ]
        return read(report, CampaignReport), read(validity, ValidityReport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.close()


def reward_due(decision: DecisionAnswer) -> float:
    """Return when the reward window of a decision closes, in seconds of the server's clock.

    >>> decision = DecisionAnswer("d", "a", 1.0, "ucb", "1970-01-01T00:01:00.250000Z", "policy")
    >>> reward_due(decision)
    60.25
    """
    return datetime.fromisoformat(decision.reward_due_at).timestamp()
