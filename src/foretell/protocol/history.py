"""Answers that show what the log holds."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from foretell.protocol.fields import Mode, ReceiptStatus, Seq


class HistoryEvent(Struct, omit_defaults=True):
    """One record of the log about a decision."""

    seq: Seq
    recorded_at: str
    type: str
    event_id: str | None = None
    signal: str | None = None
    value: float | None = None
    kind: str | None = None
    target: str | None = None
    occurred_at: str | None = None
    status: ReceiptStatus | None = None


class DecisionHistory(Struct):
    """All that is known about one decision."""

    decision_id: str
    campaign: str
    as_of: str
    """The moment at which its outcome is told."""
    round: int
    decided_at: str
    action: str
    propensity: float
    mode: Mode
    policy: str
    eligible: list[str]
    voided: bool
    """Whether it was never shown: then nothing counts."""
    signal: str | None
    """What counts as its signal, once that is settled."""
    signal_due_at: str
    reward: float | None
    """What counts as its reward, once that is settled."""
    reward_due_at: str
    context: Any
    events: list[HistoryEvent]


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
    recorded_at: str
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
