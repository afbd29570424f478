"""The bodies of answers: a client ignores the fields of a newer service that it does not know."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from foretell.protocol.fields import (
    ActionStatus,
    AnyMode,
    CampaignStatus,
    ReceiptStatus,
    Scope,
    Seq,
    Silence,
)


class ActionView(Struct):
    """An action and whether it can be chosen."""

    action: str
    status: ActionStatus


class CampaignView(Struct):
    """A campaign and its configuration."""

    name: str
    status: CampaignStatus
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
    """How many configurations it has had: also its ETag."""


class CampaignList(Struct):
    """Every campaign."""

    campaigns: list[CampaignView]


class DecisionAnswer(Struct):
    """A decision that was made."""

    decision_id: str
    action: str
    propensity: float
    policy: str
    reward_due_at: str
    mode: AnyMode


class Receipt(Struct, omit_defaults=True):
    """What became of one event."""

    status: ReceiptStatus
    event_id: str | None = None
    detail: str | None = None
    """Why it is parked or rejected, or that it was clipped."""
    clipped: bool = False
    """Whether the reward of its decision, as far as it is known, lies outside the range."""


class BatchReceipt(Struct):
    """What became of each event of a batch, in its order."""

    results: list[Receipt]


class KeyView(Struct):
    """A key without its secret."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: str


class MadeKey(KeyView):
    """A key at the only moment at which it can be read."""

    key: str


class KeyList(Struct):
    """Every key that is valid."""

    keys: list[KeyView]


class Rotated(Struct):
    """The secret that signs decision ids from now on."""

    secret: int
    """How many secrets there were before it."""
    since: str


class ErasedUnit(Struct):
    """How many decisions no longer name a unit."""

    decisions: int


class ReportCounts(Struct):
    """Counts of decisions and feedback."""

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
    """Corrections that the policy has not read yet: they enter at the next refit."""
    voided: int = 0
    """Decisions that were never shown."""
    open_signals: int = 0
    open_rewards: int = 0


class ActionReport(Struct):
    """An action: its traffic, and its estimated reward with a 95 % interval."""

    action: str
    status: ActionStatus
    decisions: int
    share: float
    value: float | None
    low: float | None
    high: float | None


class SignalReportRow(Struct):
    """A signal: its estimated reward, with a 95 % interval."""

    signal: str
    theta: float | None
    low: float | None
    high: float | None
    rewards: int
    count: int


class LogReport(Struct):
    """The position in the log: at the same position every replay gives the same hash."""

    position: Seq
    as_of: str
    state_hash: str


class CampaignReport(Struct):
    """The report of a campaign: its counts, actions, signals and position in the log."""

    campaign: str
    status: CampaignStatus
    policy: str
    counts: ReportCounts
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
    as_of: str
    """The moment up to which the log is counted."""
    width: float
    """Seconds of one point."""
    points: list[SeriesPoint]


class SignalDelays(Struct):
    """How long a signal, or the first reward after it, takes to arrive: ages in seconds."""

    signal: str
    decisions: int
    arrived: int
    ages: list[float]
    shares: list[float]
    """The share of what has arrived that was there by each age."""


class DelayReport(Struct):
    """Delays of signals and of rewards over the latest decisions."""

    campaign: str
    as_of: str
    """The moment up to which the log is counted."""
    decisions: int
    signals: list[SignalDelays]
    rewards: list[SignalDelays]


class SignalTableRow(Struct):
    """The settled signals of an action."""

    action: str
    count: int
    rates: dict[str, float]


class SignalTable(Struct):
    """Signals by action, and the estimated reward of each."""

    campaign: str
    as_of: str
    """The moment up to which the log is counted."""
    actions: list[SignalTableRow]
    signals: list[SignalReportRow]


class SignalChange(Struct):
    """A moment at which the signals of an action changed."""

    action: str
    at: str
    before: dict[str, float]
    after: dict[str, float]


class SignalChanges(Struct):
    """Changes found in the settled signals of each action."""

    campaign: str
    as_of: str
    """The moment up to which the log is counted."""
    changes: list[SignalChange]


class Restored(Struct):
    """The log after a restore."""

    head: Seq


class Health(Struct):
    """Whether the log can be written, and how far what was written is known to the policies."""

    status: Literal["ok", "closed"]
    detail: str = ""
    fold_lag_seconds: float = 0.0
    """How far the states of the campaigns are behind the log."""
    clock_ahead_seconds: float = 0.0
    """How far the wall clock is ahead of log time, while its step is not followed, or behind it."""


class FieldError(Struct):
    """What is wrong with one field of a request."""

    field: str
    """Its name, as in `actions[2]`; `body` where it is none of them."""
    detail: str
    """A sentence: what it must be, what was sent, what to do."""


class ProblemDetails(Struct, omit_defaults=True):
    """An error, as RFC 9457 writes it."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None
    errors: list[FieldError] | None = None
    """Everything that is wrong with the fields of the request, in one answer."""
