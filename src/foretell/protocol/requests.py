"""The bodies of requests about campaigns and keys.

An unknown field is refused, and what has its default is not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from foretell.protocol.fields import (
    MAX_ACTIONS,
    MAX_SIGNALS,
    ActionStatus,
    Moment,
    Name,
    RewardCount,
    RewardSilence,
    Scope,
    Seconds,
    Share,
    Silence,
    TypicalDelay,
)

RewardName = Annotated[str, Meta(max_length=40)]


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
    reward_silence: RewardSilence = "default"
    typical_delay: TypicalDelay | None = None
    explore: Share = 0.0
    holdout: Share = 0.0
    sticky: bool = False
    signals_ordered: bool = True
    signal_values: dict[str, float] = {}
    signal_values_weight: RewardCount = 10.0
    reward_name: RewardName = ""
    """What a reward is called in sentences, in the plural, as in `readings`; else `rewards`."""
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
    reward_silence: RewardSilence | UnsetType = UNSET
    typical_delay: TypicalDelay | UnsetType | None = UNSET
    explore: Share | UnsetType = UNSET
    holdout: Share | UnsetType = UNSET
    sticky: bool | UnsetType = UNSET
    signals_ordered: bool | UnsetType = UNSET
    signal_values: dict[str, float] | UnsetType = UNSET
    signal_values_weight: RewardCount | UnsetType = UNSET
    reward_name: RewardName | UnsetType = UNSET


class NewAction(RequestBody):
    """An action to add."""

    action: Name


class ActionPatch(RequestBody):
    """What to do with an action; a retired one never comes back."""

    status: ActionStatus


class NewKey(RequestBody):
    """A key to make."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]
    campaign: Name | None = None
    """The one campaign that it is for; left out: all of them, those to come too."""
    expires_at: Moment | None = None
    """From when on it is not valid; left out: it stays so until it is revoked."""
