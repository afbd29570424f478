"""The parts of the log that are archived: which seqs, and what of them is still here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from foretell.service.log.archives import ArchivedRange


async def read_archives(connection: Any) -> list[ArchivedRange]:
    """Return what was archived, in order."""
    rows = await connection.fetch(
        "SELECT lower, upper, campaigns FROM foretell.archives ORDER BY lower"
    )
    return [ArchivedRange(first, end, frozenset(numbers)) for first, end, numbers in rows]


def is_archived(seq: int, archives: Sequence[ArchivedRange]) -> bool:
    """Return whether a record with this seq is archived."""
    return any(one.holds(seq) for one in archives)
