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
    """Its name, which stays for ever: in addresses, in files and in labels."""
    actions: Annotated[list[Name], Meta(min_length=2, max_length=MAX_ACTIONS)]
    """What can be chosen, by name; more can be added later."""
    signals: Annotated[list[Name], Meta(min_length=1, max_length=MAX_SIGNALS)]
    """What can be seen soon after a decision, weakest first; the first may be `none`."""
    policy: Annotated[str, Meta(min_length=1, max_length=500)] = "nsd-adaptive"
    """Who chooses: a name, or a name with its settings, as in `nsd-ucrl2(window=800)`."""
    signal_window: Seconds = 3600.0
    """Seconds after a decision in which its signal is awaited."""
    reward_window: Seconds = 7 * 86400.0
    """Seconds after a decision in which its reward is awaited."""
    default_reward: float = 0.0
    """The reward of a decision to which none has come when its window closes."""
    reward_range: tuple[float, float] = (0.0, 1.0)
    """The least and the largest reward: what lies outside is kept, and clipped for the policy."""
    signal_silence: Silence = "default"
    """What it means that no signal comes: the weakest one (`default`), or nothing (`unknown`)."""
    reward_silence: RewardSilence = "default"
    """What it means that no reward comes: the default one (`default`), nothing (`unknown`), or
    less the older the decision is (`corrected`, which needs `typical_delay`)."""
    typical_delay: TypicalDelay | None = None
    """The mean delay of a reward in seconds, of all signals or of each by its name."""
    explore: Share = 0.0
    """The share of decisions in which all actions are equally likely, to learn."""
    holdout: Share = 0.0
    """The share of decisions kept on uniform play, to compare the policy with."""
    sticky: bool = False
    """Whether a unit keeps the action that it got first."""
    signals_ordered: bool = True
    """Whether signals are listed weakest first: the policy starts from that order."""
    signal_values: dict[str, float] = {}
    """First guesses of the mean reward of signals, by name."""
    signal_values_weight: RewardCount = 10.0
    """How many rewards each first guess counts as."""
    reward_name: RewardName = ""
    """What a reward is called in sentences, in the plural, as in `readings`; else `rewards`."""
    status: Literal["draft", "running"] = "running"
    """Whether it decides at once (`running`), or once it is started (`draft`)."""


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
    """Its name, which no other action of the campaign has or had."""


class ActionPatch(RequestBody):
    """What to do with an action; a retired one never comes back."""

    status: ActionStatus
    """Whether it can be chosen: `active`, `paused`, or `retired` for good."""


class NewKey(RequestBody):
    """A key to make."""

    name: Name
    """What to call it; the log names it so."""
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]
    """What it may do; `admin` is everything."""
    campaign: Name | None = None
    """The one campaign that it is for; left out: all of them, those to come too."""
    expires_at: Moment | None = None
    """From when on it is not valid; left out: it stays so until it is revoked."""
