"""The client for an event loop."""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Sequence
from types import NoneType, TracebackType
from typing import Any, Self

from foretell import protocol
from foretell.client import calls
from foretell.client.async_transport import AsyncTransport
from foretell.client.base import BaseClient
from foretell.client.calls import ApiCall, Body, decision_call, read
from foretell.client.checks import new_id
from foretell.client.decision import Fallback, ServiceDecision, checked_fallback
from foretell.client.feedback import MakeEvent
from foretell.client.health import ClientHealth
from foretell.client.history_parts import AnyRow, history_parts
from foretell.client.outbox import RejectedEvent


class AsyncAdminCalls(ABC):
    """What an operator asks for, in a client that is awaited."""

    async def campaigns(self) -> list[protocol.CampaignView]:
        """Return every campaign that is not hidden."""
        return (await self._ask(ApiCall("GET", "/v1/campaigns"), protocol.CampaignList)).campaigns

    async def campaign(self, campaign: str) -> protocol.CampaignView:
        """Return a campaign as it is set."""
        return await self._ask(ApiCall("GET", calls.campaign_path(campaign)), protocol.CampaignView)

    async def create_campaign(self, **fields: Any) -> protocol.CampaignView:
        """Make a campaign from at least `name`, `actions` and `signals`; return it as it is set."""
        return await self._ask(calls.new_campaign_call(fields), protocol.CampaignView)

    async def patch_campaign(
        self, campaign: str, *, version: int | None = None, **fields: Any
    ) -> protocol.CampaignView:
        """Change fields of a campaign, only if it has a `version` where one is given."""
        return await self._ask(calls.patch_call(campaign, fields, version), protocol.CampaignView)

    async def start_campaign(self, campaign: str) -> protocol.CampaignView:
        """Start a campaign, or let it go on."""
        return await self._ask(calls.status_call(campaign, "start"), protocol.CampaignView)

    async def pause_campaign(self, campaign: str) -> protocol.CampaignView:
        """Pause a campaign: it decides nothing and takes feedback."""
        return await self._ask(calls.status_call(campaign, "pause"), protocol.CampaignView)

    async def stop_campaign(self, campaign: str) -> protocol.CampaignView:
        """Stop a campaign for good: it decides nothing and takes feedback."""
        return await self._ask(calls.status_call(campaign, "stop"), protocol.CampaignView)

    async def hide_campaign(self, campaign: str) -> protocol.CampaignView:
        """Stop a campaign, and leave it out of lists; its name and its records stay."""
        return await self._ask(calls.status_call(campaign, "hide"), protocol.CampaignView)

    async def add_action(self, campaign: str, action: str) -> protocol.CampaignView:
        """Add an action."""
        return await self._ask(calls.add_action_call(campaign, action), protocol.CampaignView)

    async def set_action(
        self, campaign: str, action: str, status: protocol.ActionStatus
    ) -> protocol.CampaignView:
        """Pause an action, let it go on ("active"), or retire it for good."""
        return await self._ask(
            calls.set_action_call(campaign, action, status), protocol.CampaignView
        )

    async def report(self, campaign: str) -> protocol.CampaignReport:
        """Return the report of a campaign."""
        return await self._ask(calls.report_call(campaign), protocol.CampaignReport)

    async def evaluate(self, campaign: str, policy: str) -> protocol.EvaluationView:
        """Begin to find out what another policy would have earned; return it as it is now."""
        return await self._ask(calls.evaluate_call(campaign, policy), protocol.EvaluationView)

    async def evaluation(self, campaign: str, evaluation: str) -> protocol.EvaluationView:
        """Return an evaluation, as far as it has come, or with its `result`."""
        return await self._ask(calls.evaluation_call(campaign, evaluation), protocol.EvaluationView)

    async def import_history(
        self,
        campaign: str,
        rows: Iterable[AnyRow],
        *,
        id: str | None = None,  # noqa: A002  (as in the API)
    ) -> protocol.ImportView:
        """Warm-start a campaign from the rows of an earlier log; return how far it is.

        The same call can be made again, and goes on where it was broken off.
        """
        for part in history_parts(rows, id):
            view = await self._ask(calls.import_call(campaign, part), protocol.ImportView)
        return view

    async def keys(self) -> list[protocol.KeyView]:
        """Return the valid keys, without their secrets."""
        return (await self._ask(ApiCall("GET", "/v1/keys"), protocol.KeyList)).keys

    async def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        """Make a key, and return it with its secret, which nobody can read again."""
        return await self._ask(calls.make_key_call(new), protocol.MadeKey)

    async def revoke_key(self, key_id: str) -> None:
        """Make a key invalid."""
        await self._ask(calls.revoke_key_call(key_id), NoneType)

    @abstractmethod
    async def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        """Send a call, and return its answer or raise why there is none."""


class AsyncClient(BaseClient[Coroutine[Any, Any, str | None]], AsyncAdminCalls):
    """A `foretell.Client` whose methods are awaited, in any event loop.

    Each loop has connections of its own, and `close` closes those of the loop it is awaited in.
    Feedback is written to the outbox and sent in threads: a busy loop does not delay it.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        fallback: Fallback | None = None,
        outbox: str | os.PathLike[str] | None = None,
    ) -> None:
        """Check the settings; connections, the outbox and its thread come with the first use."""
        super().__init__(url, key=key, timeout=timeout, fallback=fallback, outbox=outbox)
        self._transport = AsyncTransport(self._address)

    async def decide(
        self,
        campaign: str,
        *,
        unit: str | None = None,
        eligible: Sequence[str] | None = None,
        decision_key: str | None = None,
        context: dict[str, Any] | None = None,
        fallback: Fallback | None = None,
    ) -> ServiceDecision[Coroutine[Any, Any, str | None]]:
        """Choose an action, among the eligible ones where some are named.

        The same `decision_key` leads to the same decision; without one, each call has its own.
        """
        safe = fallback is not None or self._fallback is not None
        try:
            self._check_usable()
            checked_fallback(fallback)
            call = decision_call(campaign, unit, eligible, decision_key or new_id(), context)
            result = await self._transport.send_with_retries(call, self._timeout)
            return self._decision(campaign, result, safe=safe)
        except Exception as error:
            decision = self._fall_back(error, campaign, eligible, fallback)
            if decision is None:
                raise
            return decision

    async def flush(self, timeout: float = 10.0) -> bool:  # noqa: ASYNC109 - it is no error
        """Wait until all feedback so far is sent; return whether it is.

        A key that is refused (401, 403) is raised as ServiceRefused.
        """
        return await asyncio.to_thread(self._flush, timeout)

    async def rejected(self) -> list[RejectedEvent]:
        """Return the events that the service will not take, and why, oldest first."""
        return await asyncio.to_thread(self._rejected)

    async def resend_rejected(self, events: Iterable[RejectedEvent] | None = None) -> int:
        """Send rejected events again, all of them or those given; return how many."""
        return await asyncio.to_thread(self._resend, events)

    async def health(self) -> ClientHealth:
        """Return how this client is: fallbacks, what waits, and when the service was heard."""
        return await asyncio.to_thread(self._health, self._transport.last_contact)

    async def close(self, timeout: float = 2.0) -> None:  # noqa: ASYNC109 - it is no error
        """Send what can be sent in this time, and stop; the rest stays in the outbox file."""
        if await asyncio.to_thread(self._close, timeout):
            await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _keep_event(self, event: MakeEvent, *, safe: bool) -> str | None:
        return await asyncio.to_thread(self._put_event, event, safe=safe)

    async def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        self._check_usable()
        send = self._transport.send_with_retries if call.method == "GET" else self._transport.send
        return read(await send(call, self._timeout), kind)
