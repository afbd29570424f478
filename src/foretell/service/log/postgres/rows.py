"""Rows of the tables: records in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.service.log.record import StoredRow
from foretell.service.model.events import SLOTS

COLUMNS = "seq, campaign, decision, body, checksum"
"""The columns of a record."""
PREFIXED = ", ".join(f"events.{column}" for column in COLUMNS.split(", "))
"""The same, where other tables are read with them."""


def row_of(columns: Sequence[Any]) -> StoredRow:
    """Return a record as it was stored; the decision of a decision is its own number."""
    seq, campaign, decision, body, checksum = columns
    return StoredRow(seq, campaign, seq if decision is None else decision, body, checksum)


def slot_of(seq: int) -> int:
    """Return the slot of the stream that wrote a record."""
    return seq % SLOTS
