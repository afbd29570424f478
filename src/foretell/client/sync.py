"""The client for code that waits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from foretell.client import calls as wire
from foretell.client.base import PATIENCE, Base, Rejected
from foretell.client.decision import Decision
from foretell.client.events import Event, new_id
from foretell.client.fallback import Fallback
from foretell.client.transport import Blocking


class Client(Base[str | None]):
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
        self._http = Blocking(self._site)

    def decide(
        self,
        campaign: str,
        *,
        unit: str | None = None,
        eligible: Sequence[str] | None = None,
        decision_key: str | None = None,
        context: dict[str, Any] | None = None,
        fallback: Fallback | None = None,
    ) -> Decision[str | None]:
        """Choose an action, among the eligible ones where some are named.

        The same `decision_key` gives the same decision; without one, each call has its own.
        """
        self._enter()
        call = wire.decision(campaign, unit, eligible, decision_key or new_id(), context)
        outcome = self._http.ask(call, self._timeout)
        return self._decided(outcome, campaign, eligible, fallback)

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until all feedback given so far is sent; False: some of it is not yet.

        A key that is refused (401, 403) is raised as ServiceRefused.
        """
        return self._flush(timeout)

    def rejected(self) -> list[Rejected]:
        """Return the events that the service will never take, and why, oldest first."""
        return self._rejected()

    def create_campaign(self, **fields: Any) -> dict[str, Any]:
        """Make a campaign: at least `name`, `actions` and `signals`; give it as it is set."""
        self._enter()
        return wire.read(self._http.send(wire.new_campaign(fields), PATIENCE), dict[str, Any])

    def report(self, campaign: str) -> dict[str, Any]:
        """Return what a campaign has come to."""
        self._enter()
        return wire.read(self._http.ask(wire.report(campaign), PATIENCE), dict[str, Any])

    def close(self, timeout: float = 2.0) -> None:
        """Send what can be sent in this time, and stop; the rest stays in the outbox file."""
        if self._close(timeout):
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _keep(self, event: Event | None) -> str | None:
        return self._put(event)
