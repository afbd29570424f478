"""An earlier log, cut into the parts in which it is sent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from numbers import Real
from typing import Any

import msgspec

from foretell.client.checks import checked_text, shown
from foretell.errors import InvalidInput
from foretell.protocol import HistoryPart, HistoryRow
from foretell.protocol.warm_start import MAX_IMPORTED, MAX_PART_ROWS

AnyRow = HistoryRow | Mapping[str, Any]
"""A row, or its fields by name; a time may be a datetime with its zone."""


def history_parts(rows: Iterable[AnyRow], history: str | None) -> list[HistoryPart]:
    """Return the parts of a history; without an id its content gives it one."""
    if not isinstance(rows, Iterable):
        raise InvalidInput(f"rows must be a list of rows, got {shown(rows)}: put them into one")
    whole = [_row(index, row) for index, row in enumerate(rows)]
    if not whole:
        raise InvalidInput("a history must have at least one row, got none: give some")
    if len(whole) > MAX_IMPORTED:  # said before a part is sent, because no part can be taken back
        raise InvalidInput(
            f"a campaign takes at most {MAX_IMPORTED:,} decisions from earlier logs, "
            f"got {len(whole):,}: import the latest ones alone"
        )
    name = digest_of(whole) if history is None else checked_text("id of the history", history)
    parts = [
        HistoryPart(id=name, rows=some, part=number) for number, some in enumerate(_cut(whole), 1)
    ]
    parts[-1].last = True
    return parts


def digest_of(rows: Iterable[HistoryRow]) -> str:
    """Return an id for some rows: the same rows have the same one."""
    import hashlib  # slow to import, and of no use to whoever only decides

    digest = hashlib.sha256()
    for row in rows:
        digest.update(msgspec.json.encode(row) + b"\n")
    return digest.hexdigest()[:16]


def _cut(rows: list[HistoryRow]) -> Iterator[list[HistoryRow]]:
    left = iter(rows)
    while some := list(islice(left, MAX_PART_ROWS)):
        yield some


def _row(index: int, row: AnyRow) -> HistoryRow:
    found = row if isinstance(row, HistoryRow) else _converted(index, row)
    if found.reward is not None and math.isinf(found.reward):  # which JSON would write as null
        raise InvalidInput(
            f"reward of row {index} of a history must be finite, got {found.reward}: "
            f"leave it out where it is not known"
        )
    return found


def _converted(index: int, row: Mapping[str, Any]) -> HistoryRow:
    try:
        fields = {name: _plain(value) for name, value in dict(row).items()}
        return msgspec.convert(msgspec.to_builtins(fields), HistoryRow)
    except (msgspec.ValidationError, TypeError, ValueError):
        raise InvalidInput(
            f"row {index} of a history must have the texts action and signal, and may have the "
            f"numbers reward and propensity and the time decided_at, got {shown(row)}: write it "
            f"as in {{'action': 'a', 'signal': 'click', 'reward': 1.0}}"
        ) from None


def _plain(value: Any) -> Any:
    """Return a number or a text of another library, such as those of an array, as Python's own."""
    if isinstance(value, Real) and not isinstance(value, bool):
        return None if math.isnan(number := float(value)) else number
    return str(value) if isinstance(value, str) else value
