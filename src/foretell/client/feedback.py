"""The verbs of feedback, the same for every client: signal, reward, adjust, retract, void."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, TypeAlias, TypeVar

from foretell.client.checks import checked_number, checked_text, moment_text, new_id
from foretell.client.decision import ServiceDecision
from foretell.protocol import FeedbackItem

EventId = TypeVar("EventId")
MakeEvent: TypeAlias = Callable[[], FeedbackItem | None]
"""Makes an event, or raises what is wrong with it; None: it is about a fallback."""


class FeedbackReporter(ABC, Generic[EventId]):
    """Reports what became of decisions, each of them named by itself or by its id.

    A verb returns the id of its event, once that is kept; pass `event_id` to name the event
    yourself, so that reporting it twice counts once. A fallback is no decision of the service:
    its feedback is dropped, counted in `dropped`, and has no id (None). Where there is a fallback
    nothing is raised: what cannot be kept is dropped, counted and logged.
    """

    def signal(
        self,
        decision: ServiceDecision[EventId] | str | None,
        name: str,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report the signal of a decision."""
        return self._report(
            decision, event_id, occurred_at, lambda: {"signal": checked_text("signal", name)}
        )

    def reward(
        self,
        decision: ServiceDecision[EventId] | str | None,
        value: float,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report a reward of a decision; rewards with different event ids add up."""
        return self._report(
            decision, event_id, occurred_at, lambda: {"value": checked_number(value)}
        )

    def adjust(
        self,
        decision: ServiceDecision[EventId] | str | None,
        target: str,
        value: float,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Set the reward whose event id is `target` to another value."""
        return self._report(
            decision,
            event_id,
            occurred_at,
            lambda: {
                "kind": "adjust",
                "value": checked_number(value),
                "target": checked_text("target", target),
            },
        )

    def retract(
        self,
        decision: ServiceDecision[EventId] | str | None,
        target: str,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Take back the reward whose event id is `target`."""
        return self._report(
            decision,
            event_id,
            occurred_at,
            lambda: {"kind": "retract", "target": checked_text("target", target)},
        )

    def void(
        self,
        decision: ServiceDecision[EventId] | str | None,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report that a decision was never shown: nothing reported about it counts."""
        return self._report(decision, event_id, occurred_at, lambda: {"kind": "void"})

    def _report(
        self,
        decision: ServiceDecision[EventId] | str | None,
        event_id: str | None,
        occurred_at: datetime | str | None,
        fields: Callable[[], dict[str, Any]],
    ) -> EventId:
        """Keep an event; what cannot be one is found where it is kept, and raised or dropped."""
        safe = isinstance(decision, ServiceDecision) and decision.safe
        decision_id = decision.id if isinstance(decision, ServiceDecision) else decision

        def event() -> FeedbackItem | None:
            if decision_id is None:
                return None
            return FeedbackItem(
                decision_id=checked_text("id of a decision", decision_id),
                event_id=new_id() if event_id is None else checked_text("event_id", event_id),
                occurred_at=moment_text(occurred_at),
                **fields(),
            )

        return self._keep_event(event, safe=safe)

    @abstractmethod
    def _keep_event(self, event: MakeEvent, *, safe: bool) -> EventId:
        """Keep an event until the service has it, and return its id; None: count it as dropped.

        Where it is `safe`, nothing is raised.
        """
