"""The verbs of feedback, the same for every client: signal, reward, adjust, retract, void."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime
from typing import Generic, TypeVar

from foretell.client.checks import checked_number, checked_text, moment_text, new_id
from foretell.client.decision import ServiceDecision
from foretell.protocol import FeedbackItem
from foretell.protocol.fields import ItemKind

EventId = TypeVar("EventId")


class FeedbackReporter(ABC, Generic[EventId]):
    """Reports what became of decisions, each of them named by itself or by its id.

    A verb returns the id of its event, once that is kept; pass `event_id` to name the event
    yourself, so that reporting it twice counts once. A fallback is no decision of the service:
    its feedback is dropped, counted in `dropped`, and has no id (None).
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
        return self._report(decision, event_id, occurred_at, signal=checked_text("signal", name))

    def reward(
        self,
        decision: ServiceDecision[EventId] | str | None,
        value: float,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report a reward of a decision; rewards with different event ids add up."""
        return self._report(decision, event_id, occurred_at, value=checked_number(value))

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
        target = checked_text("target", target)
        return self._report(
            decision, event_id, occurred_at, "adjust", value=checked_number(value), target=target
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
        target = checked_text("target", target)
        return self._report(decision, event_id, occurred_at, "retract", target=target)

    def void(
        self,
        decision: ServiceDecision[EventId] | str | None,
        *,
        event_id: str | None = None,
        occurred_at: datetime | str | None = None,
    ) -> EventId:
        """Report that a decision was never shown: nothing counts that is said about it."""
        return self._report(decision, event_id, occurred_at, "void")

    def _report(
        self,
        decision: ServiceDecision[EventId] | str | None,
        event_id: str | None,
        occurred_at: datetime | str | None,
        kind: ItemKind = "reward",
        *,
        signal: str | None = None,
        value: float | None = None,
        target: str | None = None,
    ) -> EventId:
        decision_id = decision.id if isinstance(decision, ServiceDecision) else decision
        if decision_id is None:
            return self._keep_event(None)
        return self._keep_event(
            FeedbackItem(
                decision_id=checked_text("id of a decision", decision_id),
                event_id=new_id() if event_id is None else checked_text("event_id", event_id),
                signal=signal,
                value=value,
                kind=kind,
                target=target,
                occurred_at=moment_text(occurred_at),
            )
        )

    @abstractmethod
    def _keep_event(self, event: FeedbackItem | None) -> EventId:
        """Keep an event until the service has it, and return its id; None: count it as dropped."""
