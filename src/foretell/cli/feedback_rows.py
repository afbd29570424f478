"""Rows of a file as events: each with an id that is the same whenever the row is read again."""

from __future__ import annotations

import hashlib
import math
from typing import Any, NamedTuple

import msgspec

from foretell.cli.feedback_columns import Columns
from foretell.cli.table_file import TableFile, TableRow, is_given, number_in
from foretell.errors import InvalidInput
from foretell.protocol import FeedbackItem

REJECTED_LINE, REJECTED_BECAUSE = "rejected_line", "rejected_because"
"""Columns of the file of rejected rows: no part of a row that is sent again."""
_TEXTS = ("decision_id", "event_id", "signal", "kind", "target", "occurred_at")
_MADE_ID_BYTES = 12


class RowEvent(NamedTuple):
    """One event of a row, as JSON."""

    row: TableRow
    event_id: str
    """That of the row, from which the event has its own."""
    body: bytes


class RowReader:
    """Makes the events of the rows of a file."""

    def __init__(self, table: TableFile, columns: Columns) -> None:
        """Read the fields from these columns."""
        self._table, self._columns = table, columns
        self._texts = [(one, columns.of[one]) for one in _TEXTS if one in columns.of]
        self._value = columns.of.get("value")
        self._encode = msgspec.json.Encoder().encode

    def events(self, row: TableRow) -> list[RowEvent]:
        """Return the events of a row: one, or two where it has a signal and a value.

        Raises InvalidInput where it has none.
        """
        if row.trouble is not None:
            raise row.trouble
        try:
            return self._events(row)
        except UnicodeEncodeError:
            raise InvalidInput(
                f"{self._where(row)} has half a surrogate pair, which is no text: write it again"
            ) from None

    def _events(self, row: TableRow) -> list[RowEvent]:
        fields: dict[str, Any] = {}
        for field, column in self._texts:
            text = row.fields.get(column)
            if is_given(text):
                fields[field] = text if isinstance(text, str) else self._plain_text(row, column)
        if "decision_id" not in fields:
            column = self._columns.of["decision_id"]
            raise InvalidInput(f"{self._where(row)} has no {column}: leave such rows out")
        value = self._number(row)
        event_id = fields.pop("event_id", None) or made_id(row.fields)
        signal = fields.pop("signal", None)
        if signal is None and value is None and "kind" not in fields:
            raise InvalidInput(
                f"{self._where(row)} has neither a signal nor a value: leave such rows out"
            )
        found: list[dict[str, Any]] = []
        if signal is not None:
            name = event_id if value is None else f"{event_id}-signal"
            about: dict[str, Any] = {
                one: fields[one] for one in ("decision_id", "occurred_at") if one in fields
            }
            found.append({**about, "event_id": name, "signal": signal})
        if value is not None or signal is None:
            found.append({**fields, "event_id": event_id, "value": value})
        return [RowEvent(row, event_id, self._encode(FeedbackItem(**one))) for one in found]

    def with_id(self, event: RowEvent) -> dict[str, Any]:
        """Return the row of an event with the id that it has, also where that was made."""
        return {**event.row.fields, self._columns.of.get("event_id", "event_id"): event.event_id}

    def _number(self, row: TableRow) -> float | None:
        found = None if self._value is None else row.fields.get(self._value)
        if isinstance(found, str):
            return number_in(self._where(row), str(self._value), found.strip())
        if not is_given(found):
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or math.isinf(found):
            raise InvalidInput(
                f"{self._where(row)}: {self._value} must be a number, got {found!r}: "
                f"or leave it empty"
            )
        return float(found)

    def _plain_text(self, row: TableRow, column: str) -> str:
        """Return a whole number as text: what JSON has as one may be an id."""
        found = row.fields[column]
        if isinstance(found, int) and not isinstance(found, bool):
            return str(found)
        raise InvalidInput(
            f"{self._where(row)}: {column} must be a text, got {found!r}: put quotes around it"
        )

    def _where(self, row: TableRow) -> str:
        return self._table.where(row.number)


def made_id(fields: dict[str, Any]) -> str:
    """Return an id for a row without one: from all of its columns, in any order.

    >>> made_id({"a": 1, "b": "x"}) == made_id({"b": "x", "a": 1}) != made_id({"a": 2, "b": "x"})
    True
    """
    kept = [
        f"{name}={value}"
        for name, value in sorted(fields.items())
        if name not in {REJECTED_LINE, REJECTED_BECAUSE}
    ]
    digest = hashlib.blake2b("\0".join(kept).encode(), digest_size=_MADE_ID_BYTES)
    return f"row-{digest.hexdigest()}"
