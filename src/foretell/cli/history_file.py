"""An earlier log in a file: CSV, JSON lines, Parquet, or an export of another campaign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from foretell.cli.history_columns import COLUMNS, NUMBERS, check_columns, check_name
from foretell.cli.table_file import TableFile, is_given, number_in
from foretell.errors import InvalidInput

if TYPE_CHECKING:
    from foretell.protocol import HistoryRow

_ONE_A_LINE = 'write one decision a line, as in {"action": "a", "signal": "click"}'
_EXPORTED = {"seq", "type", "body"}
"""What every record of an export has."""


class HistoryFile(NamedTuple):
    """What a file holds."""

    rows: list[HistoryRow]
    names: list[str]
    """Where each row is in the file, in words."""
    left_out: int
    """Decisions of an export of which nothing is known yet."""


def read_history(path: str) -> HistoryFile:
    """Read an earlier log; its content says what kind of file it is, not its name."""
    table = TableFile.of(path, _ONE_A_LINE)
    exported = table.kind != "CSV" and set(table.columns) >= _EXPORTED
    return _from_export(path) if exported else _from_rows(table)


def _from_export(path: str) -> HistoryFile:
    from foretell.cli.export_file import read_records
    from foretell.service.reports.export_reader import read_export
    from foretell.service.reports.exported_history import exported_history

    rows, left_out = exported_history(read_export(read_records(path)))
    names = [f"the decision of {row.decided_at} in {path!r}" for row in rows]
    return _some(path, HistoryFile(rows, names, left_out))


def _from_rows(table: TableFile) -> HistoryFile:
    import msgspec

    from foretell.protocol import HistoryRow
    from foretell.service.model.checks.validation import field_errors
    from foretell.service.model.timestamps import format_timestamp, parse_timestamp

    found, names = [], []
    for name, fields in _named_rows(table):
        given = {one: fields[one] for one in COLUMNS if is_given(fields.get(one))}
        try:
            row = msgspec.convert(given, HistoryRow)
        except msgspec.ValidationError:
            raise InvalidInput(f"{name}: {field_errors(HistoryRow, given)[0].detail}") from None
        at = None if row.decided_at is None else parse_timestamp(row.decided_at)
        if at is not None:  # the same log has the same digest, whatever kind of file it is in
            row.decided_at = format_timestamp(at)
        found.append(row)
        names.append(name)
    return _some(table.path, HistoryFile(found, names, 0))


def _named_rows(table: TableFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the rows, with their names in words; numbers are read where a file has them as text."""
    as_text = table.kind != "JSON lines"
    if as_text:
        check_columns(table)
    if table.kind == "Parquet":  # a column that nobody asks for costs nothing
        table = table._replace(columns=[one for one in COLUMNS if one in table.columns])
    checked: set[str] = set()
    for row in table.rows():
        if row.trouble is not None:
            raise row.trouble
        name, fields = table.where(row.number), row.fields
        for one in fields.keys() - checked if not as_text else ():
            check_name(name, one, fields)
        checked |= fields.keys()
        written = {one: fields[one] for one in NUMBERS if isinstance(fields.get(one), str)}
        numbers = {one: number_in(name, one, text) for one, text in written.items()}
        yield name, fields | numbers if as_text else fields


def _some(path: str, found: HistoryFile) -> HistoryFile:
    if not found.rows:
        raise InvalidInput(
            f"{path!r} holds no decision of which something is known: name another file"
        )
    return found
