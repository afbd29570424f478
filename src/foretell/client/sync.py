"""The blocking client."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from foretell.client.base import BaseClient
from foretell.client.calls import decision_call, new_campaign_call, read, report_call
from foretell.client.checks import new_id
from foretell.client.decision import Fallback, ServiceDecision
from foretell.client.outbox import RejectedEvent
from foretell.client.transport import REQUEST_TIMEOUT, SyncTransport
from foretell.protocol import FeedbackItem


class Client(BaseClient[str | None]):
    """Asks a service for decisions and reports what became of them, from any thread.

    A decision takes at most `timeout` seconds, over all its tries. With a `fallback` (an action,
    a mapping of campaigns to actions, or a function of the campaign and the eligible actions)
    network trouble and a paused campaign give a decision with mode "fallback"; without one they
    raise ServiceUnavailable and ServiceRefused. What the service refuses for good (an unknown
    campaign, a wrong key) raises ServiceRefused, fallback or not.

    Feedback is kept in the file `outbox` until the service has it, whatever becomes of this
    process or the service. Without a file it is kept in memory and ends with the process.

    A client may be made before a fork, and used on one side of it only.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 1.0,
        fallback: Fallback | None = None,
        outbox: str | os.PathLike[str] | None = None,
    ) -> None:
        """Check the settings; connections, the outbox and its thread come with the first use."""
        super().__init__(url, key=key, timeout=timeout, fallback=fallback, outbox=outbox)
        self._transport = SyncTransport(self._address)

    def decide(
        self,
        campaign: str,
        *,
        unit: str | None = None,
        eligible: Sequence[str] | None = None,
        decision_key: str | None = None,
        context: dict[str, Any] | None = None,
        fallback: Fallback | None = None,
    ) -> ServiceDecision[str | None]:
        """Choose an action, among the eligible ones where some are named.

        The same `decision_key` leads to the same decision; without one, each call has its own.
        """
        self._check_usable()
        call = decision_call(campaign, unit, eligible, decision_key or new_id(), context)
        result = self._transport.send_with_retries(call, self._timeout)
        return self._decision(result, campaign, eligible, fallback)

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until all feedback so far is sent; return whether it is.

        A key that is refused (401, 403) is raised as ServiceRefused.
        """
        return self._flush(timeout)

    def rejected(self) -> list[RejectedEvent]:
        """Return the events that the service will never take, and why, oldest first."""
        return self._rejected()

    def create_campaign(self, **fields: Any) -> dict[str, Any]:
        """Make a campaign from at least `name`, `actions` and `signals`; return it as it is set."""
        self._check_usable()
        result = self._transport.send(new_campaign_call(fields), REQUEST_TIMEOUT)
        return read(result, dict[str, Any])

    def report(self, campaign: str) -> dict[str, Any]:
        """Return the report of a campaign."""
        self._check_usable()
        result = self._transport.send_with_retries(report_call(campaign), REQUEST_TIMEOUT)
        return read(result, dict[str, Any])

    def close(self, timeout: float = 2.0) -> None:
        """Send what can be sent in this time, and stop; the rest stays in the outbox file."""
        if self._close(timeout):
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _keep_event(self, event: FeedbackItem | None) -> str | None:
        return self._put_event(event)
