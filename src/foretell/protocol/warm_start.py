"""A warm start: what an earlier log is sent as, and what has become of it."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from foretell.protocol.fields import Id, Moment
from foretell.protocol.requests import RequestBody

MAX_PART_ROWS = 2000
"""Decisions that one part of a history may hold."""
MAX_PARTS = 10_000
"""Parts that a history may have."""
MAX_IMPORTED = 1_000_000
"""Decisions that one campaign takes from earlier logs: every refit reads them all."""
ImportStatus = Literal["receiving", "refitting", "in force"]
"""What has become of a history: parts are missing, the policy reads it, the policy knows it."""


class HistoryRow(RequestBody):
    """One decision of an earlier log, and what came of it."""

    action: str
    """What was chosen."""
    signal: str
    """What was seen soon after."""
    reward: float | None = None
    """Left out: it is not known, and the signal alone counts."""
    decided_at: Moment | None = None
    """Left out: it was made with the row before it, or, in the first row, before all others."""
    propensity: Annotated[float, Meta(gt=0, le=1)] | None = None
    """With which probability the action was chosen; left out: all actions were equally likely."""


class HistoryPart(RequestBody):
    """A part of an earlier log; the same part can be sent again."""

    id: Id
    """What the history is called, by whoever sends it."""
    rows: Annotated[list[HistoryRow], Meta(min_length=1, max_length=MAX_PART_ROWS)]
    """Decisions in the order in which they were made."""
    part: Annotated[int, Meta(ge=1, le=MAX_PARTS)] = 1
    """The number of the part, from 1 on."""
    last: bool = False
    """Whether it is the last part: with it the policy begins to read them all."""


class ImportView(Struct, rename={"begin": "from", "end": "to"}):
    """A history that was imported, or is being so."""

    id: str
    """What it is called, by whoever sent it."""
    status: ImportStatus
    """What has become of it."""
    decisions: int
    """Decisions that have come."""
    rewards: int
    """Decisions whose reward is known."""
    begin: str | None
    """The time of its first decision, null where no times are known."""
    end: str | None
    """The time of its last decision."""
    parts: int
    """Parts that have come."""
    progress: float
    """The share of the reading that is done."""
    detail: str = ""
    """Why it does not go on, in one sentence; empty while it does."""
