"""The bodies of answers about a campaign over time: its series, delays, signals and changes."""

from __future__ import annotations

from msgspec import Struct

from foretell.protocol.campaign_report import RewardInterval, SignalReportRow


class Maturity(Struct):
    """Which periods are complete: nothing that was decided then is still awaited."""

    signals: list[bool]
    """For each period, whether the signal of every decision is known, or its window is closed."""
    rewards: list[bool]
    """The same for rewards; until then their mean may still move."""


class PeriodSeries(Struct):
    """What was decided in each period, by one action or mode, and what became of it."""

    name: str
    """The action or the mode."""
    decisions: list[int]
    """For each period, the decisions made."""
    voids: list[int]
    """Of these, the ones that were never shown."""
    signals: dict[str, list[int]]
    """Settled signals by name; a signal that never occurred here is left out."""
    rewards: list[int]
    """Settled rewards, whatever they are: a reward of 0 is one."""
    reward: list[float | None]
    """The mean of the settled rewards; null where there is none."""


class Timeseries(Struct):
    """A campaign over time, by the time of the decisions; every list has one entry per period."""

    campaign: str
    """Its name."""
    as_of: str
    """The moment up to which the log is counted."""
    width: float
    """Seconds of one period: what was asked for, rounded up to what is kept."""
    kept: float
    """The shortest width that there is, in seconds; it grows with the campaign."""
    at: list[str]
    """When each period begins; periods begin with the clock, days at midnight UTC."""
    mature: Maturity
    """Which periods are complete."""
    total: PeriodSeries
    """All decisions together."""
    actions: list[PeriodSeries]
    """The decisions of each action."""
    modes: list[PeriodSeries]
    """How the action was chosen: by the policy, to explore, as a holdout, or for a known unit."""
    uplift: list[RewardInterval | None] = []
    """The uplift over the holdout of all settled decisions made up to the end of each period, from
    the first decision of the campaign on; the intervals hold at all times at once."""


class Delays(Struct):
    """How long something takes to arrive, in seconds since the decision."""

    signal: str | None
    """After which signal; null: after any."""
    decisions: int
    """Decisions whose signal this is, settled."""
    arrived: int
    """Of these, to how many a signal, or a reward, has come."""
    median: float | None
    """The age by which half have come of those that will; null where nothing came."""
    p90: float | None
    """The age by which nine of ten have come."""
    misses: float | None
    """The share that came after the window, of decisions at least two windows old; null: too early,
    or nothing came."""
    missed: int
    """How many these are."""
    misses_of: int
    """How many came in all, of decisions at least two windows old."""
    ages: list[float]
    """The delay curve: an age for each of the shares."""
    shares: list[float]
    """The share that has come by each age, of what comes by the oldest age seen."""


class DelayReport(Struct):
    """How long signals and rewards take, and what their windows miss."""

    campaign: str
    """Its name."""
    as_of: str
    """The moment up to which the log is counted."""
    sentence: str
    """The finding about rewards, in words."""
    signal_sentence: str
    """The finding about signals, in words."""
    signal_window: float
    """Seconds after which silence becomes a signal, if it does."""
    reward_window: float
    """Seconds after which silence becomes an outcome."""
    decisions: int
    """Decisions of the campaign."""
    all_signals: Delays
    """How long a signal takes to come, whichever it is."""
    all_rewards: Delays
    """How long the first reward takes to come, after any signal."""
    signals: list[Delays]
    """How long each signal takes to come."""
    rewards: list[Delays]
    """How long the first reward takes to come, by the signal before it."""
    oldest: float | None = None
    """The age of the oldest decision in seconds, beyond which no delay can be seen yet; null:
    there is none."""


class SignalTableRow(Struct):
    """The settled signals of an action, in the time that was asked for."""

    action: str
    """Which action."""
    count: int
    """Its settled signals in all periods."""
    rates: dict[str, float]
    """The share of each signal."""
    counts: list[int]
    """For each period, the settled signals."""
    by_period: dict[str, list[int]]
    """For each signal how many of these it was; one that never occurred is left out."""


class SignalTable(Struct):
    """Signals by action and period, and the estimated reward of each signal over all time."""

    campaign: str
    """Its name."""
    as_of: str
    """The moment up to which the log is counted."""
    width: float
    """Seconds of one period: what was asked for, rounded up to what is kept."""
    at: list[str]
    """When each period begins."""
    mature: list[bool]
    """For each period, whether every signal is known, or its window is closed."""
    actions: list[SignalTableRow]
    """Each with its signals."""
    signals: list[SignalReportRow]
    """Each with its mean reward."""


class PolicyReaction(Struct):
    """What the policy did about a change, as far as it tells."""

    followed: bool | None
    """Whether it counts the action's signals from about the change on, or later; null: it does not
    tell."""
    since: str | None
    """From when on it counts them, about."""
    sure: float | None
    """How sure it is that the law is not the one from before, where it says so."""


class SignalChange(Struct):
    """A moment at which the signals of an action changed."""

    action: str
    """Which action."""
    at: str
    """The likeliest moment: where the period begins that is the first of the new kind."""
    earliest: str
    """From here on the change may have begun."""
    latest: str
    """Between these the change began with a probability of 95 %."""
    probability: float
    """How sure that is, if beforehand a change among all actions is as likely as none."""
    log_evidence: float
    """The natural logarithm of how many times likelier two laws make the counts than one."""
    before: dict[str, float]
    """The share of each signal up to the change."""
    after: dict[str, float]
    """The share of each signal up to the change, and from there to the next."""
    policy: PolicyReaction
    """What the policy did about it."""
    sentence: str
    """The same in words."""


class SignalChanges(Struct):
    """Changes found in the settled signals of each action."""

    campaign: str
    """Its name."""
    as_of: str
    """The moment up to which the log is counted."""
    sentence: str
    """What was found, in words."""
    changes: list[SignalChange]
    """In the order of time."""
