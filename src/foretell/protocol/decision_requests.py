"""The bodies of requests for decisions, and of reports about them."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Raw

from foretell.protocol.fields import (
    MAX_ACTIONS,
    MAX_BATCH_EVENTS,
    FeedbackKind,
    Id,
    ItemKind,
    Moment,
    Name,
)
from foretell.protocol.requests import RequestBody


class DecisionRequest(RequestBody):
    """A request for a decision."""

    unit: Id | None = None
    eligible: Annotated[list[Name], Meta(min_length=1, max_length=MAX_ACTIONS)] | None = None
    decision_key: Id | None = None
    context: dict[str, Any] | None = None


class SignalReport(RequestBody):
    """A signal that was seen."""

    signal: Name
    event_id: Id | None = None
    occurred_at: Moment | None = None


class RewardReport(RequestBody):
    """A reward, or a correction of one: `target` is the `event_id` of the reward it changes.

    A `retract` takes all of it back, whatever its `value`.
    """

    value: float | None = None
    kind: FeedbackKind = "reward"
    target: Id | None = None
    event_id: Id | None = None
    occurred_at: Moment | None = None


class VoidReport(RequestBody):
    """A decision that was never shown: nothing counts that was reported about it, or will be."""

    event_id: Id | None = None
    occurred_at: Moment | None = None


class FeedbackItem(RequestBody):
    """One event of a batch: with `signal` it is a signal, else a reward, or what `kind` says."""

    decision_id: Annotated[str, Meta(min_length=1, max_length=200)]
    event_id: Id | None = None
    signal: Name | None = None
    value: float | None = None
    kind: ItemKind = "reward"
    target: Id | None = None
    occurred_at: Moment | None = None


class EventBatch(RequestBody):
    """Events to take in, each on its own."""

    events: Annotated[list[Raw], Meta(min_length=1, max_length=MAX_BATCH_EVENTS)]
