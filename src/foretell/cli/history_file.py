"""An earlier log in a file: CSV, JSON lines, Parquet, or an export of another campaign."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foretell.errors import InvalidInput, listed

if TYPE_CHECKING:
    from foretell.protocol import HistoryRow

_PARQUET = b"PAR1"
_NEEDED = ("action", "signal")
_NUMBERS = ("reward", "propensity")
_COLUMNS = (*_NEEDED, *_NUMBERS, "decided_at")
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
    if not Path(path).is_file():
        raise InvalidInput(f"there is no file {path!r}: check its name")
    with Path(path).open("rb") as file:
        begins = file.read(1 << 16)
    if begins.startswith(_PARQUET):
        export, rows = _is_exported(_parquet_columns(path)), _parquet_rows
    elif begins.lstrip().startswith(b"{"):
        export, rows = _is_exported(_first_object(begins)), _json_rows
    else:
        export, rows = False, _csv_rows
    return _from_export(path) if export else _from_rows(path, rows(path))


def _is_exported(names: Any) -> bool:
    return set(names) >= _EXPORTED


def _from_export(path: str) -> HistoryFile:
    from foretell.cli.export_file import read_records
    from foretell.service.reports.export_reader import read_export
    from foretell.service.reports.exported_history import exported_history

    rows, left_out = exported_history(read_export(read_records(path)))
    names = [f"the decision of {row.decided_at} in {path!r}" for row in rows]
    return _some(path, HistoryFile(rows, names, left_out))


def _from_rows(path: str, rows: Iterator[tuple[str, dict[str, Any]]]) -> HistoryFile:
    import msgspec

    from foretell.protocol import HistoryRow
    from foretell.service.model.checks.validation import field_errors

    found, names = [], []
    for name, fields in rows:
        given = {
            one: value
            for one, value in fields.items()
            if one in _COLUMNS and value not in (None, "") and value == value  # noqa: PLR0124  (NaN)
        }
        try:
            found.append(msgspec.convert(given, HistoryRow))
        except msgspec.ValidationError:
            raise InvalidInput(f"{name}: {field_errors(HistoryRow, given)[0].detail}") from None
        names.append(name)
    return _some(path, HistoryFile(found, names, 0))


def _some(path: str, found: HistoryFile) -> HistoryFile:
    if not found.rows:
        raise InvalidInput(
            f"{path!r} holds no decision of which something is known: name another file"
        )
    return found


def _csv_rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with Path(path).open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        try:
            _check_columns(path, reader.fieldnames or ())
            for row in reader:
                name = f"line {reader.line_num} of {path!r}"
                yield name, row | {one: _number(name, one, row.get(one)) for one in _NUMBERS}
        except (csv.Error, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"{path!r} cannot be read as CSV ({error}): write it as CSV in UTF-8, JSON lines, "
                f"or Parquet"
            ) from None


def _number(name: str, column: str, text: str | None) -> float | None:
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InvalidInput(f"{name}: {column} must be a number, got {text!r}: or leave it empty")
    return found


def _check_columns(path: str, columns: Any) -> None:
    for needed in _NEEDED:
        if needed not in columns:
            raise InvalidInput(
                f"{path!r} has no column {needed!r}, got {listed(map(str, columns))}: it needs "
                f"action and signal, and may have reward, decided_at and propensity"
            )


def _first_object(begins: bytes) -> Any:
    try:
        return json.loads(begins.lstrip().split(b"\n", 1)[0])
    except ValueError:  # the line is named when it is read
        return ()


def _json_rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            name = f"line {number} of {path!r}"
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                raise InvalidInput(
                    f"{name} must be a JSON object, got {line[:40]!r}: write one decision a line, "
                    f'as in {{"action": "a", "signal": "click"}}'
                )
            yield name, found


def _parquet_columns(path: str) -> list[str]:
    from foretell.cli.parquet_file import parquet_columns

    return parquet_columns(path)


def _parquet_rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    from foretell.cli.parquet_file import parquet_rows
    from foretell.service.model.timestamps import format_timestamp

    columns = _parquet_columns(path)
    _check_columns(path, columns)
    known = [one for one in _COLUMNS if one in columns]
    for number, row in enumerate(parquet_rows(path, known), 1):
        fields = dict(zip(known, row, strict=True))
        at = fields.get("decided_at")
        if isinstance(at, int):
            fields["decided_at"] = format_timestamp(at)
        yield f"row {number} of {path!r}", fields
