"""The bodies of answers: a client ignores the fields of a newer service that it does not know."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from foretell.protocol.fields import (
    ActionStatus,
    AnyMode,
    CampaignStatus,
    ReceiptStatus,
    RewardSilence,
    Seq,
    Silence,
)
from foretell.protocol.warm_start import ImportView


class ActionView(Struct):
    """An action and whether it can be chosen."""

    action: str
    """Its name."""
    status: ActionStatus
    """Whether it can be chosen."""


RefitStatus = Literal["running", "failed"]


class RefitView(Struct):
    """A refit: the policy reads the whole log again, beside the traffic."""

    status: RefitStatus
    """One that failed has changed nothing."""
    why: str
    """What has made it necessary."""
    progress: float
    """The part of the log that is read, in [0, 1]."""
    detail: str = ""
    """Why it has failed."""


class CampaignView(Struct):
    """A campaign and its configuration."""

    name: str
    """Its name."""
    status: CampaignStatus
    """Whether it decides: only a `running` campaign does."""
    actions: list[ActionView]
    """Every action, also those that are paused or retired."""
    signals: list[str]
    policy: str
    signal_window: float
    reward_window: float
    default_reward: float
    reward_range: tuple[float, float]
    signal_silence: Silence
    reward_silence: RewardSilence
    typical_delay: float | dict[str, float] | None
    """The mean delay of a reward, which "corrected" silence needs: of all signals, or of each."""
    explore: float
    holdout: float
    sticky: bool
    signals_ordered: bool
    signal_values: dict[str, float]
    signal_values_weight: float
    reward_name: str
    """What a reward is called in sentences; empty: a reward."""
    created_at: str
    """When it was made."""
    version: int
    """How many configurations it has had: also its ETag."""
    history: list[ImportView] = []
    """The earlier logs that it was warm-started from, or is being so."""
    refit: RefitView | None = None
    """The refit that is under way, or the last one if it has failed; until then nothing changes."""


class CampaignList(Struct):
    """Every campaign."""

    campaigns: list[CampaignView]
    """Each with its configuration, those left out that the key is not for."""


class DecisionAnswer(Struct):
    """A decision that was made."""

    decision_id: str
    """What feedback names the decision by, from anywhere, for ever."""
    action: str
    """What to do, or show."""
    propensity: float
    """The probability with which this action was drawn."""
    policy: str
    """Who chose, with its settings."""
    reward_due_at: str
    """When its reward window closes: a later reward counts too."""
    mode: AnyMode
    """How it was chosen: by the policy, to explore, as a holdout, or as before for a known unit."""


class Receipt(Struct, omit_defaults=True, gc=False):
    """What became of one event."""

    status: ReceiptStatus
    """`accepted`; `duplicate`: it was here before; `late`: after its window, it counts;
    `parked`: its decision is not known yet; `rejected`: it is not kept."""
    event_id: str | None = None
    """The id of the event, as it was sent or made."""
    detail: str | None = None
    """Why it is parked or rejected, or that it was clipped."""
    clipped: bool = False
    """Whether the reward of its decision, as far as it is known, lies outside the range."""


class BatchReceipt(Struct):
    """What became of each event of a batch, in its order."""

    results: list[Receipt]
    """One for each event, in the order sent."""


class ErasedUnit(Struct):
    """How many decisions no longer name a unit."""

    decisions: int
    """Decisions that named it, and name nobody now."""


class Restored(Struct):
    """The log after a restore."""

    head: Seq
    """The last record of the log that was restored."""


class Health(Struct):
    """Whether the log can be written, and how far what was written is known to the policies."""

    status: Literal["ok", "closed"]
    """Whether records can be written."""
    detail: str = ""
    """Why they cannot, in one sentence; empty where they can."""
    fold_lag_seconds: float = 0.0
    """How far the states of the campaigns are behind the log."""
    clock_ahead_seconds: float = 0.0
    """How far the wall clock is ahead of log time, while its step is not followed, or behind it."""
    deciders: int = 1
    """How many servers write the log, this one included."""
    durability: str = ""
    """What an acknowledged record survives, where that is for the database server to say."""
