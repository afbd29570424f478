"""Which column of a file is which field of an event: as flags say, or guessed from the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from foretell.cli.history_columns import nearest
from foretell.cli.table_file import TableFile
from foretell.errors import InvalidInput, UnknownName, listed

FIELDS = {
    "decision_id": ("decision_id", "decision", "foretell_decision_id"),
    "event_id": ("event_id", "foretell_event_id"),
    "signal": ("signal", "signal_name"),
    "value": ("value", "reward", "amount", "revenue"),
    "kind": ("kind",),
    "target": ("target", "target_event_id"),
    "occurred_at": ("occurred_at", "occurred", "event_time", "event_timestamp", "timestamp"),
}
"""The fields of an event, and the names of columns that are taken for each, the likeliest first."""
_ADVICE = "name it with --decision-id COLUMN"


class Columns(NamedTuple):
    """Which column each field is in, and how that was found."""

    of: dict[str, str]
    """The column of a field; a field that is not there is not in the file."""
    guessed: frozenset[str]
    """Fields whose column nobody named."""

    def explained(self, table: TableFile) -> list[str]:
        """Return what is read from where, a sentence a line."""
        said = [
            f"{field} is the column {column!r}{', by its name' if field in self.guessed else ''}"
            for field, column in self.of.items()
        ]
        rest = [one for one in table.columns if one not in self.of.values()]
        if "event_id" not in self.of:
            said.append(
                "event_id is made from each whole row, so that the same file counts once: rows "
                "that are alike in every column count as one"
            )
        if self.of.keys() >= {"signal", "value"}:
            said.append(
                "a row with a signal and a value is two events: the event_id of its signal ends in "
                "'-signal'"
            )
        return [*said, f"not read: {listed(rest)}"] if rest else said


def find_columns(table: TableFile, named: Mapping[str, str | None]) -> Columns:
    """Return which column is which field; `named` has those that flags name."""
    of: dict[str, str] = {}
    for field, column in named.items():
        if column is not None:
            if column not in table.columns:
                raise UnknownName.of(f"column in {table.path!r}", column, table.columns)
            of[field] = column
    guessed = set()
    for field, names in FIELDS.items():
        column = None if field in of else _guess(names, table.columns, set(of.values()))
        if column is not None:
            of[field] = column
            guessed.add(field)
    for column in of.values():
        if table.columns.count(column) > 1:
            raise InvalidInput(f"{table.path!r} has two columns {column!r}: rename one of them")
    _check(table, of)
    return Columns({field: of[field] for field in FIELDS if field in of}, frozenset(guessed))


def _guess(names: tuple[str, ...], columns: list[str], taken: set[str]) -> str | None:
    """Return the column that is called so, or nearly so."""
    free = [one for one in columns if one not in taken]
    for name in names:
        if name in free:
            return name
    for column in free:
        if nearest(column, names):
            return column
    return None


def _check(table: TableFile, of: dict[str, str]) -> None:
    """Refuse a file without the columns that an event needs."""
    if "decision_id" not in of:
        raise InvalidInput(
            f"{table.path!r} has no column 'decision_id', got {listed(table.columns)}: "
            f"{table.advice() or _ADVICE}"
        )
    if not of.keys() & {"signal", "value", "kind"}:
        raise InvalidInput(
            f"{table.path!r} has no column 'signal', 'value' or 'kind', got "
            f"{listed(table.columns)}: name one with --signal, --value or --kind COLUMN"
        )
