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
    """Decisions that were made."""
    signals: int = 0
    """Signals that have come."""
    rewards: int = 0
    """Rewards that have come."""
    duplicates: int = 0
    """Events that had come before, and count once."""
    late: int = 0
    """Events that came after their window."""
    parked: int = 0
    """Events whose decision is not known."""
    rejected: int = 0
    """Events that could not be used."""
    clipped: int = 0
    """Rewards whose total lies outside the range."""
    revisions: int = 0
    """Corrections that the policy has not read yet: they enter at the next refit."""
    voided: int = 0
    """Decisions that were never shown."""
    open_signals: int = 0
    """Decisions whose signal is awaited."""
    open_rewards: int = 0
    """Decisions whose reward is awaited."""


class RewardInterval(Struct):
    """An estimate and its 95 % interval, in the unit of the campaign's rewards."""

    mean: float
    """The estimate."""
    low: float
    """Where the interval begins."""
    high: float
    """Where the interval ends."""


class Observed(RewardInterval):
    """The mean of settled rewards; the interval is about the true mean of these decisions."""

    n: int
    """How many rewards are settled."""


class ActionReport(Struct):
    """An action: its traffic, what it has earned, and what it would earn now."""

    action: str
    """Its name."""
    status: ActionStatus
    """Whether it can be chosen."""
    decisions: int
    """How often it was chosen, in all modes."""
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
    """How these decisions were made."""


class FreshnessReport(Struct):
    """When something last came, and what was due since."""

    decision_at: str | None
    """When the last decision was made; null: there is none."""
    signal_at: str | None
    """When the last signal came."""
    reward_at: str | None
    """When the last reward came."""
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
    """Its name."""
    theta: float | None
    """The mean reward after it; null where none is settled."""
    low: float | None
    """Where its interval begins."""
    high: float | None
    """Where its interval ends."""
    rewards: int
    """Settled rewards after it."""
    count: int
    """Decisions whose signal it is, settled."""
    warning: str | None = None
    """Why this mean over all actions is not to be relied on; None where the signal is valid."""


class LogReport(Struct):
    """The position in the log: at the same position every replay gives the same hash."""

    position: Seq
    """The log is counted up to here."""
    as_of: str
    """The time of that position."""
    state_hash: str
    """The digest of all that the policy knows."""


class CampaignReport(Struct):
    """The report of a campaign: its counts, actions, signals and position in the log."""

    campaign: str
    """Its name."""
    status: ReportStatus
    """What it is in, the first that holds."""
    sentence: str
    """What there is to know first, in words."""
    policy: str
    """Who chooses, with its settings."""
    counts: ReportCounts
    """How much was decided and reported."""
    actions: list[ActionReport]
    """Each with its traffic and what it earns."""
    modes: list[ModeReport]
    """Each with what its decisions earn."""
    uplift: RewardInterval | None
    """What decisions of the policy earn more than those of the holdout; the interval holds at all
    times at once. None where one of them has no settled reward."""
    signals: list[SignalReportRow]
    """Each with its mean reward."""
    freshness: FreshnessReport
    """When something last came."""
    log: LogReport
    """Up to where the log is counted."""
    history: list[ImportView] = []
    """The earlier logs that the policy knows besides: nothing else of this report counts them."""


class ValidityCell(Observed):
    """The rewards of one action after one signal."""

    signal: str
    """Which signal."""
    action: str
    """Which action."""


class ValidityReport(Struct):
    """Whether the signal can be trusted."""

    campaign: str
    """Its name."""
    as_of: str
    """The moment up to which the log is counted."""
    verdict: Verdict
    """The finding in a word."""
    e_value: float
    """Evidence that the action matters, given the signal and the period; the largest so far.
    It ever reaches 20 by chance in one campaign of 20 at most."""
    cost: float | None
    """Reward lost per decision by trusting the signal alone; None while it is too early."""
    detectable: float | None
    """A difference between an action and the others that would have been seen by now; None where
    even the largest might not have been."""
    sentence: str
    """The finding in words, and what to do."""
    cells: list[ValidityCell]
    """The rewards of each action after each signal."""
