"""The report of a campaign, as the service answers it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from foretell.protocol.fields import ActionStatus, Mode, Seq
from foretell.protocol.warm_start import ImportView

ReportStatus = Literal[
    "rewards stopped",
    "signals stopped",
    "traffic stopped",
    "misleading signal",
    "holdout ahead",
    "doubtful signal",
    "draft",
    "paused",
    "stopped",
    "quiet",
    "rebuilding",
    "learning",
    "healthy",
    "undecided",
]
"""What a campaign is in, the first that holds."""
Verdict = Literal["valid", "doubtful", "misleading", "too early"]


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


class RewardInterval(Struct):
    """An estimate and its 95 % interval, in the unit of the campaign's rewards."""

    mean: float
    low: float
    high: float


class Observed(RewardInterval):
    """The mean of settled rewards; the interval is about the true mean of these decisions."""

    n: int
    """How many rewards are settled."""


class ActionReport(Struct):
    """An action: its traffic, what it has earned, and what it would earn now."""

    action: str
    status: ActionStatus
    decisions: int
    share: float
    """Of the decisions of policy and exploration, of all time."""
    recent_share: float | None
    """The same since the last change of any action's signals, at least of the last 24 hours, which
    it is where no change was found; None where nothing was decided."""
    observed: Observed | None
    """The mean reward of its own settled decisions, of all modes and all time; no model."""
    value: RewardInterval | None
    """What it would earn now, as the policy believes: since its last change, from the signals,
    their rewards, and what the signals do not explain. None before any reward is settled, and
    where the meaning of the signal moves."""
    best: float | None
    """The probability that it is now the best of the actions that can be chosen."""
    sentence: str | None = None
    """Which of `observed` and `value` to go by, and why, where they disagree; None where their
    intervals overlap."""


class ModeReport(Observed):
    """The settled decisions of one mode."""

    mode: Mode


class FreshnessReport(Struct):
    """When something last came, and what was due since."""

    decision_at: str | None
    signal_at: str | None
    reward_at: str | None
    reward_expected_by: str | None
    """When, after the last reward, the next one was to come with 95 %; None: by none of the
    decisions there are."""
    rewards_due: float
    """Rewards that were to come since the last one, by open decisions, their signals and ages."""
    closed_meanwhile: int
    """Decisions that closed without a reward since the last one came: where rewards have stopped,
    some of them wrongly. A reward that comes late repairs its decision."""
    signals_due: float = 0.0
    """Signals that were to come since the last one, by decisions, their actions and ages."""


class SignalReportRow(Struct):
    """A signal: its estimated reward, with a 95 % interval."""

    signal: str
    theta: float | None
    low: float | None
    high: float | None
    rewards: int
    count: int
    warning: str | None = None
    """Why this mean over all actions is not to be relied on; None where the signal is valid."""


class LogReport(Struct):
    """The position in the log: at the same position every replay gives the same hash."""

    position: Seq
    as_of: str
    state_hash: str


class CampaignReport(Struct):
    """The report of a campaign: its counts, actions, signals and position in the log."""

    campaign: str
    status: ReportStatus
    sentence: str
    """What there is to know first, in words."""
    policy: str
    counts: ReportCounts
    actions: list[ActionReport]
    modes: list[ModeReport]
    uplift: RewardInterval | None
    """What decisions of the policy earn more than those of the holdout; the interval holds at all
    times at once. None where one of them has no settled reward."""
    signals: list[SignalReportRow]
    freshness: FreshnessReport
    log: LogReport
    history: list[ImportView] = []
    """The earlier logs that the policy knows besides: nothing else of this report counts them."""


class ValidityCell(Observed):
    """The rewards of one action after one signal."""

    signal: str
    action: str


class ValidityReport(Struct):
    """Whether the signal can be trusted."""

    campaign: str
    as_of: str
    """The moment up to which the log is counted."""
    verdict: Verdict
    e_value: float
    """Evidence that the action matters, given the signal and the period; the largest so far.
    It ever reaches 20 by chance in one campaign of 20 at most."""
    cost: float | None
    """Reward lost per decision by trusting the signal alone; None while it is too early."""
    detectable: float | None
    """A difference between an action and the others that would have been seen by now; None where
    even the largest might not have been."""
    sentence: str
    cells: list[ValidityCell]
