"""The bodies of requests: an unknown field is refused, and what has its default is not sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from foretell.protocol.fields import (
    MAX_ACTIONS,
    MAX_BATCH_EVENTS,
    MAX_SIGNALS,
    ActionStatus,
    FeedbackKind,
    Id,
    ItemKind,
    Moment,
    Name,
    Scope,
    Seconds,
    Share,
    Silence,
)


class RequestBody(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The body of a request."""

    elsewhere: ClassVar[Mapping[str, str]] = {}
    """What is not set by this body, and how it is set."""


class NewCampaign(RequestBody):
    """A campaign to make; windows in seconds, signals weakest first."""

    name: Name
    actions: Annotated[list[Name], Meta(min_length=2, max_length=MAX_ACTIONS)]
    signals: Annotated[list[Name], Meta(min_length=1, max_length=MAX_SIGNALS)]
    policy: Annotated[str, Meta(min_length=1, max_length=500)] = "nsd-adaptive"
    signal_window: Seconds = 3600.0
    reward_window: Seconds = 7 * 86400.0
    default_reward: float = 0.0
    reward_range: tuple[float, float] = (0.0, 1.0)
    signal_silence: Silence = "default"
    reward_silence: Silence = "default"
    explore: Share = 0.0
    holdout: Share = 0.0
    sticky: bool = False
    status: Literal["draft", "running"] = "running"


class CampaignPatch(RequestBody):
    """What to change of a campaign; what is left out stays."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "name": "the name of a campaign stays as it is",
        "actions": "add one with POST …/actions, pause or retire one with PATCH …/actions/NAME",
        "status": "set it with POST …/start, …/pause or …/stop",
    }

    signals: Annotated[list[Name], Meta(min_length=1, max_length=MAX_SIGNALS)] | UnsetType = UNSET
    policy: Annotated[str, Meta(min_length=1, max_length=500)] | UnsetType = UNSET
    signal_window: Seconds | UnsetType = UNSET
    reward_window: Seconds | UnsetType = UNSET
    default_reward: float | UnsetType = UNSET
    reward_range: tuple[float, float] | UnsetType = UNSET
    signal_silence: Silence | UnsetType = UNSET
    reward_silence: Silence | UnsetType = UNSET
    explore: Share | UnsetType = UNSET
    holdout: Share | UnsetType = UNSET
    sticky: bool | UnsetType = UNSET


class NewAction(RequestBody):
    """An action to add."""

    action: Name


class ActionPatch(RequestBody):
    """What to do with an action; a retired one never comes back."""

    status: ActionStatus


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


class NewKey(RequestBody):
    """A key to make."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]
    campaign: Name | None = None
    """The one campaign that it is for; left out: all of them, those to come too."""
    expires_at: Moment | None = None
    """From when on it is not valid; left out: it stays so until it is revoked."""
