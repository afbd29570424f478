"""The blocking client."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from foretell.client.admin import AdminCalls
from foretell.client.base import BaseClient
from foretell.client.calls import ApiCall, Body, decision_call, read
from foretell.client.checks import new_id
from foretell.client.decision import Fallback, ServiceDecision, checked_fallback
from foretell.client.feedback import MakeEvent
from foretell.client.health import ClientHealth

if TYPE_CHECKING:
    from foretell.client.outbox import RejectedEvent


class Client(BaseClient[str | None], AdminCalls):
    """Asks a service for decisions and reports what became of them, from any thread.

    Without an address and a key, FORETELL_URL and FORETELL_KEY say them. A call takes at most
    `timeout` seconds, over all its tries. With a `fallback` (an action, a mapping of campaigns to
    actions, or a function of the campaign and the eligible actions) `decide` and the verbs of
    feedback raise nothing: whatever is wrong, the network, the key, the campaign or what was
    passed, the decision has the mode "fallback", is counted in `fallbacks` and in `health()`, and
    its reason is logged at most once a minute. Without one they raise ServiceUnavailable,
    ServiceRefused or InvalidInput, and so do all other calls, fallback or not.

    Feedback is kept in the file `outbox` until the service has it, whatever becomes of this
    process or the service. Without a file it is kept in memory and ends with the process.

    A client may be made before a fork, and used on one side of it only.
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
        from foretell.client.transport import SyncTransport

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
        safe = fallback is not None or self._fallback is not None
        try:
            self._check_usable()
            checked_fallback(fallback)
            call = decision_call(campaign, unit, eligible, decision_key or new_id(), context)
            result = self._transport.send_with_retries(call, self._timeout)
            return self._decision(campaign, result, safe=safe)
        except Exception as error:
            decision = self._fall_back(error, campaign, eligible, fallback)
            if decision is None:
                raise
            return decision

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until all feedback so far is sent; return whether it is.

        A key that is refused (401, 403) is raised as ServiceRefused.
        """
        return self._flush(timeout)

    def rejected(self) -> list[RejectedEvent]:
        """Return the events that the service will not take, and why, oldest first."""
        return self._rejected()

    def resend_rejected(self, events: Iterable[RejectedEvent] | None = None) -> int:
        """Send rejected events again, all of them or those given; return how many."""
        return self._resend(events)

    def health(self) -> ClientHealth:
        """Return how this client is: fallbacks, what waits, and when the service was heard."""
        return self._health(self._transport.last_contact)

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

    def _keep_event(self, event: MakeEvent, *, safe: bool) -> str | None:
        return self._put_event(event, safe=safe)

    def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        self._check_usable()
        send = self._transport.send_with_retries if call.method == "GET" else self._transport.send
        return read(send(call, self._timeout), kind)
