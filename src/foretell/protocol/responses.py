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
    version: int
    """How many configurations it has had: also its ETag."""
    history: list[ImportView] = []
    """The earlier logs that it was warm-started from, or is being so."""


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


class ErasedUnit(Struct):
    """How many decisions no longer name a unit."""

    decisions: int


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
    deciders: int = 1
    """How many servers write the log, this one included."""
    durability: str = ""
    """What an acknowledged record survives, where that is for the database server to say."""
