"""An earlier log in a file: CSV, JSON lines, Parquet, or an export of another campaign."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from foretell.cli.history_columns import COLUMNS, NUMBERS, check_columns, check_name
from foretell.errors import InvalidInput

if TYPE_CHECKING:
    from foretell.protocol import HistoryRow

_PARQUET = b"PAR1"
_UTF8_MARK = b"\xef\xbb\xbf"
"""What some programs write in front of text."""
_BEGINNING = 1 << 16
"""Bytes that say what kind of file it is."""
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
    if not Path(path).is_file():
        raise InvalidInput(f"there is no file {path!r}: check its name")
    with Path(path).open("rb") as file:
        begins = file.read(_BEGINNING).removeprefix(_UTF8_MARK).lstrip()
    if begins.startswith(_PARQUET):
        export, rows = _is_exported(_parquet_columns(path)), _parquet_rows
    elif not begins:
        raise InvalidInput(f"{path!r} is empty: name another file")
    elif begins.startswith(b"["):
        raise InvalidInput(f"{path!r} must be JSON lines, got a list: {_ONE_A_LINE}")
    elif begins.startswith(b"{"):
        export, rows = _is_exported(_first_object(path)), _json_rows
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
    from foretell.service.model.timestamps import format_timestamp, parse_timestamp

    found, names = [], []
    for name, fields in rows:
        given = {
            one: value
            for one, value in fields.items()
            if one in COLUMNS and value not in (None, "") and value == value  # noqa: PLR0124  (NaN)
        }
        try:
            row = msgspec.convert(given, HistoryRow)
        except msgspec.ValidationError:
            raise InvalidInput(f"{name}: {field_errors(HistoryRow, given)[0].detail}") from None
        at = None if row.decided_at is None else parse_timestamp(row.decided_at)
        if at is not None:  # the same log has the same digest, whatever kind of file it is in
            row.decided_at = format_timestamp(at)
        found.append(row)
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
            columns = list(reader.fieldnames or ())
            check_columns(path, columns)
            for row in reader:
                name = f"line {reader.line_num} of {path!r}"
                if None in row:
                    raise InvalidInput(
                        f"{name} has {len(columns) + len(row[None])} values, and the file "
                        f"{len(columns)} columns: put quotes around a value with a comma"
                    )
                yield name, row | {one: _number(name, one, row.get(one)) for one in NUMBERS}
        except UnicodeDecodeError:
            raise InvalidInput(f"{path!r} is no text in UTF-8: save it as CSV in UTF-8") from None
        except csv.Error as error:
            raise InvalidInput(
                f"{path!r} cannot be read as CSV ({error}): write it as CSV, JSON lines, or Parquet"
            ) from None


def _number(name: str, column: str, text: str | None) -> float | None:
    if not text:
        return None
    try:
        found = math.nan if "_" in text else float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InvalidInput(f"{name}: {column} must be a number, got {text!r}: or leave it empty")
    return found


def _first_object(path: str) -> Any:
    with Path(path).open("rb") as file:
        lines = (line for line in file if line.removeprefix(_UTF8_MARK).strip())
        try:
            return json.loads(next(lines).removeprefix(_UTF8_MARK))
        except (ValueError, RecursionError):  # the line is named when it is read
            return ()


def _json_rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    checked: set[str] = set()
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            line = line.removeprefix(_UTF8_MARK) if number == 1 else line  # noqa: PLW2901
            if not line.strip():
                continue
            name = f"line {number} of {path!r}"
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                found = None
            if not isinstance(found, dict):
                begins = line[:40].decode(errors="replace").strip()
                raise InvalidInput(
                    f"{name} must be a JSON object in UTF-8, got {begins!r}: {_ONE_A_LINE}"
                )
            for one in found.keys() - checked:
                check_name(name, one, found)
            checked |= found.keys()
            yield name, found


def _parquet_columns(path: str) -> list[str]:
    from foretell.cli.parquet_file import parquet_columns

    return parquet_columns(path)


def _parquet_rows(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    from foretell.cli.parquet_file import parquet_rows
    from foretell.service.model.timestamps import format_timestamp

    columns = _parquet_columns(path)
    check_columns(path, columns)
    known = [one for one in COLUMNS if one in columns]
    for number, row in enumerate(parquet_rows(path, known), 1):
        fields = dict(zip(known, row, strict=True))
        at = fields.get("decided_at")
        if isinstance(at, int):
            fields["decided_at"] = format_timestamp(at)
        name = f"row {number} of {path!r}"
        written = {one: fields[one] for one in NUMBERS if isinstance(fields.get(one), str)}
        yield name, fields | {one: _number(name, one, text) for one, text in written.items()}
