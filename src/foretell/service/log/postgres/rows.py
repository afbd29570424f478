"""Rows of the tables: records in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.service.log.record import StoredRow

COLUMNS = "seq, campaign, decision, body, checksum"
"""The columns of a record."""
PREFIXED = ", ".join(f"events.{column}" for column in COLUMNS.split(", "))
"""The same, where other tables are read with them."""
ONE_BY_ONE = "OFFSET 0"
"""Ends a part of a query that is looked up in an index for each row that is wanted.

The planner would read whole tables where it knows too little of them, as in a new partition.
"""


def row_of(columns: Sequence[Any]) -> StoredRow:
    """Return a record as it was stored; the decision of a decision is its own number."""
    seq, campaign, decision, body, checksum = columns
    return StoredRow(seq, campaign, seq if decision is None else decision, body, checksum)
