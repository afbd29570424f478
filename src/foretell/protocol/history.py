"""Answers that show what the log holds."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from foretell.protocol.fields import Mode, ReceiptStatus, Seq


class HistoryEvent(Struct, omit_defaults=True):
    """One record of the log about a decision."""

    seq: Seq
    """Its place in the log."""
    recorded_at: str
    """When it was recorded."""
    type: str
    """What it is: a decision, a signal, a reward, or that it was never shown."""
    event_id: str | None = None
    """Its own id."""
    signal: str | None = None
    """Which signal, if it is one."""
    value: float | None = None
    """The reward, or what it was set to."""
    kind: str | None = None
    """Of a reward: a reward, an adjustment, or a retraction."""
    target: str | None = None
    """The `event_id` of the reward that it changes."""
    occurred_at: str | None = None
    """When it happened, as it was sent."""
    status: ReceiptStatus | None = None
    """What its receipt said."""


class DecisionHistory(Struct):
    """All that is known about one decision."""

    decision_id: str
    """The decision_id that came with it."""
    campaign: str
    """Whose decision it is."""
    as_of: str
    """The moment at which its outcome is told."""
    round: int
    """How many decisions of the campaign were made before it."""
    decided_at: str
    """When it was made."""
    action: str
    """What was chosen."""
    propensity: float
    """The probability with which it was drawn."""
    mode: Mode
    """How it was chosen."""
    policy: str
    """Who chose, with its settings."""
    eligible: list[str]
    """What could be chosen."""
    voided: bool
    """Whether it was never shown: then nothing counts."""
    signal: str | None
    """What counts as its signal, once that is settled."""
    signal_due_at: str
    """When its signal window closes."""
    reward: float | None
    """What counts as its reward, once that is settled."""
    reward_due_at: str
    """When its reward window closes."""
    context: Any
    """What was sent with it; null where nothing was, or it was erased."""
    events: list[HistoryEvent]
    """Every record about it, in the order of the log."""


RecordType = Literal[
    "decision",
    "signal",
    "reward",
    "void",
    "created",
    "changed",
    "refit",
    "erased",
    "imported",
    "configuration",
]
"""The type of a record of a campaign; `configuration` asks for all five that are about none of its
decisions."""


class RecordView(Struct):
    """One record of the log."""

    seq: Seq
    """Its place in the log."""
    recorded_at: str
    """When it was recorded."""
    type: str
    """As in the parameter `type`; about the server itself: what was made of a key or a secret."""
    body: dict[str, Any]
    """What it says. A configuration has `by`, the id and name of the key that changed it,
    `changes`, each setting with its values before and after, and a `sentence` with both."""


class RecordPage(Struct):
    """Records of the log, and where to go on."""

    events: list[RecordView]
    """There may be none of a rare type on a page that is not the last: go on at `next`."""
    next: Seq
    """What to send as `after` for the next page."""
