"""What goes over the wire: the bodies of requests and answers, each a strict struct."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$(?!\n)")]
"""Names of campaigns, actions and signals: they stand in addresses, files and labels.

In Python `$` matches before a last line break too, in JSON Schema it does not: hence the end.
"""
Id = Annotated[str, Meta(min_length=1, max_length=200)]
"""What a client calls its own events, decisions and units."""
Seconds = Annotated[float, Meta(gt=0, le=10 * 366 * 86400)]
Share = Annotated[float, Meta(ge=0, le=1)]
Moment = Annotated[str, Meta(max_length=40)]
"""A time of the client, RFC 3339, kept as it was sent."""

Silence = Literal["default", "unknown"]
Status = Literal["draft", "running", "paused", "stopped"]
ActionStatus = Literal["active", "paused", "retired"]
Scope = Literal["decide", "feedback", "read", "admin"]
Mode = Literal["policy", "explore", "holdout", "sticky"]
RewardKind = Literal["reward", "adjust", "retract"]
Verdict = Literal["accepted", "duplicate", "late", "parked", "rejected"]


class Request(Struct, forbid_unknown_fields=True):
    """A body that is sent to us."""


class NewCampaign(Request):
    """A campaign to make; windows in seconds, signals weakest first."""

    name: Name
    actions: Annotated[list[Name], Meta(min_length=2, max_length=10_000)]
    signals: Annotated[list[Name], Meta(min_length=1, max_length=100)]
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


class CampaignPatch(Request):
    """What to change of a campaign; what is left out stays."""

    signals: Annotated[list[Name], Meta(min_length=1, max_length=100)] | UnsetType = UNSET
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


class NewAction(Request):
    """An action to add."""

    action: Name


class ActionPatch(Request):
    """What to do with an action; a retired one never comes back."""

    status: ActionStatus


class Ask(Request):
    """A decision that is asked for."""

    unit: Id | None = None
    eligible: Annotated[list[Name], Meta(min_length=1, max_length=10_000)] | None = None
    decision_key: Id | None = None
    context: dict[str, Any] | None = None


class SignalReport(Request):
    """A signal that was seen."""

    signal: Name
    event_id: Id | None = None
    occurred_at: Moment | None = None


class RewardReport(Request):
    """A reward, or a correction of one: `target` is the `event_id` of the reward it changes."""

    value: float | None = None
    kind: RewardKind = "reward"
    target: Id | None = None
    event_id: Id | None = None
    occurred_at: Moment | None = None


class BatchItem(Request):
    """One event of a batch: with `signal` it is a signal, else a reward."""

    decision_id: Annotated[str, Meta(min_length=1, max_length=200)]
    signal: Name | None = None
    value: float | None = None
    kind: RewardKind = "reward"
    target: Id | None = None
    event_id: Id | None = None
    occurred_at: Moment | None = None


class Batch(Request):
    """Events to take in, each for itself."""

    events: Annotated[list[Raw], Meta(min_length=1, max_length=2000)]


class NewKey(Request):
    """A key to make."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=4)]


class ActionView(Struct):
    """An action and whether it can be chosen."""

    action: str
    status: ActionStatus


class CampaignView(Struct):
    """A campaign as it is set."""

    name: str
    status: Status
    actions: list[ActionView]
    signals: list[str]
    policy: str
    signal_window: float
    reward_window: float
    default_reward: float
    reward_range: tuple[float, float]
    signal_silence: Silence
    reward_silence: Silence
    explore: float
    holdout: float
    sticky: bool
    created_at: str
    version: int
    """The line of the log that set it so: also its ETag."""


class CampaignList(Struct):
    """Every campaign."""

    campaigns: list[CampaignView]


class Answer(Struct):
    """A decision that was made."""

    decision_id: str
    action: str
    propensity: float
    policy: str
    reward_due_at: str
    mode: Mode


class Receipt(Struct, omit_defaults=True):
    """What became of one event."""

    status: Verdict
    event_id: str | None = None
    detail: str | None = None


class BatchAnswer(Struct):
    """What became of each event of a batch, in its order."""

    results: list[Receipt]


class KeyView(Struct):
    """A key without its secret."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: str


class KeyMade(KeyView):
    """A key at the only moment at which it can be read."""

    key: str


class KeyList(Struct):
    """Every key that is valid."""

    keys: list[KeyView]


class Erased(Struct):
    """How many decisions no longer name a unit."""

    decisions: int


class StoryEvent(Struct, omit_defaults=True):
    """One line of the log about a decision."""

    seq: int
    at: str
    type: str
    event_id: str | None = None
    signal: str | None = None
    value: float | None = None
    kind: str | None = None
    target: str | None = None
    occurred_at: str | None = None
    status: Verdict | None = None


class Story(Struct):
    """All that is known about one decision."""

    decision_id: str
    campaign: str
    round: int
    at: str
    action: str
    propensity: float
    mode: Mode
    policy: str
    eligible: list[str]
    signal: str | None
    """What counts as its signal, once that is settled."""
    signal_due_at: str
    reward: float | None
    """What counts as its reward, once that is settled."""
    reward_due_at: str
    context: Any
    events: list[StoryEvent]


class Counts(Struct):
    """How many of each there were."""

    decisions: int = 0
    signals: int = 0
    rewards: int = 0
    duplicates: int = 0
    late: int = 0
    parked: int = 0
    rejected: int = 0
    clipped: int = 0
    """Rewards whose total lies outside the range."""
    revisions: int = 0
    """Corrections that the policy has not read yet: they enter at the next re-fold."""
    open_signals: int = 0
    open_rewards: int = 0


class ActionReport(Struct):
    """An action: its traffic, and what it is worth with a 95 % interval."""

    action: str
    status: ActionStatus
    decisions: int
    share: float
    value: float | None
    low: float | None
    high: float | None


class SignalReportRow(Struct):
    """A signal: what it is worth, with a 95 % interval."""

    signal: str
    theta: float | None
    low: float | None
    high: float | None
    rewards: int
    count: int


class LogReport(Struct):
    """Where the log stands: the same head and time give the same hash on any replay."""

    head: int
    as_of: str
    state_hash: str


class Report(Struct):
    """What a campaign has come to."""

    campaign: str
    status: Status
    policy: str
    counts: Counts
    actions: list[ActionReport]
    signals: list[SignalReportRow]
    log: LogReport


class SeriesPoint(Struct):
    """What was decided in one stretch of time, and what became of it."""

    at: str
    decisions: dict[str, int]
    signals: dict[str, int]
    rewards: int
    reward: float | None
    """The mean of the settled rewards."""
    mature: bool
    """Whether every reward of this stretch is settled."""


class Timeseries(Struct):
    """A campaign over time, by the time of the decisions."""

    campaign: str
    width: float
    """Seconds of one point."""
    points: list[SeriesPoint]


class DelayRow(Struct):
    """How long a signal, or the first reward after it, takes to arrive: ages in seconds."""

    signal: str
    decisions: int
    arrived: int
    ages: list[float]
    shares: list[float]
    """The share of what has arrived that was there by each age."""


class Delays(Struct):
    """Delays of signals and of rewards over the latest decisions."""

    campaign: str
    decisions: int
    signals: list[DelayRow]
    rewards: list[DelayRow]


class SignalTableRow(Struct):
    """The settled signals of an action."""

    action: str
    count: int
    rates: dict[str, float]


class SignalTable(Struct):
    """Signals by action, and what each is worth."""

    campaign: str
    actions: list[SignalTableRow]
    signals: list[SignalReportRow]


class Change(Struct):
    """A moment at which the signals of an action changed."""

    action: str
    at: str
    before: dict[str, float]
    after: dict[str, float]


class Changes(Struct):
    """Changes found in the settled signals of each action."""

    campaign: str
    changes: list[Change]


class LogLine(Struct):
    """One line of the log."""

    seq: int
    at: str
    type: str
    body: dict[str, Any]


class LogPage(Struct):
    """Lines of the log, and where to go on."""

    events: list[LogLine]
    next: int


class Restored(Struct):
    """A log that was put in place of another."""

    head: int


class Health(Struct):
    """Whether the log can be written."""

    status: Literal["ok", "closed"]
    detail: str = ""


class Problem(Struct, omit_defaults=True):
    """An error, as RFC 9457 writes it."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[str] | None = None


def decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    """Give a strict decoder for a request body."""
    return msgspec.json.Decoder(kind)
