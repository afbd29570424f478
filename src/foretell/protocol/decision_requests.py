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
    """Who the decision is for, such as a visitor: kept as a keyed hash, and it can be erased."""
    eligible: Annotated[list[Name], Meta(min_length=1, max_length=MAX_ACTIONS)] | None = None
    """The actions that may be chosen now; left out: all that are active."""
    decision_key: Id | None = None
    """Your own id of this question: asked again, it leads to the same decision."""
    context: dict[str, Any] | None = None
    """What was known at the time, to keep with the decision; the policy does not read it."""


class SignalReport(RequestBody):
    """A signal that was seen."""

    signal: Name
    """Which one of the campaign's signals."""
    event_id: Id | None = None
    occurred_at: Moment | None = None


class RewardReport(RequestBody):
    """A reward, or a correction of one: `target` is the `event_id` of the reward it changes.

    A `retract` takes all of it back, whatever its `value`.
    """

    value: float | None = None
    kind: FeedbackKind = "reward"
    """A `reward`, another value for one (`adjust`), or that there was none (`retract`)."""
    target: Id | None = None
    event_id: Id | None = None
    occurred_at: Moment | None = None


class VoidReport(RequestBody):
    """A decision that was never shown: nothing reported about it counts, before or after."""

    event_id: Id | None = None
    occurred_at: Moment | None = None


class FeedbackItem(RequestBody):
    """One event of a batch: with `signal` it is a signal, else a reward, or what `kind` says."""

    decision_id: Annotated[str, Meta(min_length=1, max_length=200)]
    """The decision_id that came with the decision."""
    event_id: Id | None = None
    """Your own id of this event: sent twice, it counts once. Left out: the service makes one."""
    signal: Name | None = None
    """Which one of the campaign's signals; left out: it is no signal."""
    value: float | None = None
    """The reward; of an `adjust` the value that it is set to."""
    kind: ItemKind = "reward"
    """A `reward`, another value for one (`adjust`), that there was none (`retract`), or that the
    decision was never shown (`void`)."""
    target: Id | None = None
    """The `event_id` of the reward that an `adjust` or a `retract` changes."""
    occurred_at: Moment | None = None
    """When it happened, RFC 3339; left out: when it arrives."""


class EventBatch(RequestBody):
    """Events to take in, each on its own."""

    events: Annotated[list[Raw], Meta(min_length=1, max_length=MAX_BATCH_EVENTS)]
    """Each on its own: one that cannot be used is answered `rejected` and harms no other."""
