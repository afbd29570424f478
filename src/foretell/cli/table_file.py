"""A table in a file: CSV with a header, JSON lines or Parquet; its content says which."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from foretell.errors import InvalidInput

_PARQUET = b"PAR1"
_UTF8_MARK = b"\xef\xbb\xbf"
"""What some programs write in front of text."""
_BEGINNING = 1 << 16
"""Bytes that say what kind of file it is."""
_SEPARATORS = {";": "semicolons", "\t": "tabs"}


class TableRow(NamedTuple):
    """One row, or why it cannot be read."""

    number: int
    """Of its line, or of the row where a file has no lines; the first is 1."""
    fields: dict[str, Any]
    trouble: InvalidInput | None = None


class TableFile(NamedTuple):
    """A file whose kind and columns are known."""

    path: str
    kind: Literal["CSV", "JSON lines", "Parquet"]
    columns: list[str]
    """Their names; of JSON lines those in any line."""
    example: str
    """A line as it is to be written, in words."""

    @classmethod
    def of(cls, path: str, example: str) -> TableFile:
        """Look at a file, or raise why it is no table."""
        if not Path(path).is_file():
            raise InvalidInput(f"there is no file {path!r}: check its name")
        with Path(path).open("rb") as file:
            begins = file.read(_BEGINNING).removeprefix(_UTF8_MARK).lstrip()
        if begins.startswith(_PARQUET):
            from foretell.cli.parquet_file import parquet_columns

            return cls(path, "Parquet", parquet_columns(path), example)
        if not begins:
            raise InvalidInput(f"{path!r} is empty: name another file")
        if begins.startswith(b"["):
            raise InvalidInput(f"{path!r} must be JSON lines, got a list: {example}")
        if begins.startswith(b"{"):
            return cls(path, "JSON lines", _names(path), example)
        with _csv_errors(path), Path(path).open(newline="", encoding="utf-8-sig") as file:
            return cls(path, "CSV", next(csv.reader(file)), example)

    def where(self, number: int) -> str:
        """Return in words where a row is."""
        return f"{'row' if self.kind == 'Parquet' else 'line'} {number} of {self.path!r}"

    def advice(self) -> str:
        """Return what to do about columns that are not separated by commas; empty: they are."""
        for sign, word in _SEPARATORS.items():
            if len(self.columns) == 1 and sign in self.columns[0]:
                return f"separate the columns by commas, not by {word}"
        return ""

    def rows(self) -> Iterator[TableRow]:
        """Read every row."""
        if self.kind == "Parquet":
            return self._parquet_rows()
        return self._csv_rows() if self.kind == "CSV" else self._json_rows()

    def last_number(self) -> int:
        """Return the number of the last row, or of the last line of a file that has lines."""
        if self.kind == "Parquet":
            from foretell.cli.parquet_file import count_parquet_rows

            return count_parquet_rows(self.path)
        with Path(self.path).open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b"")) + 1

    def _csv_rows(self) -> Iterator[TableRow]:
        with _csv_errors(self.path), Path(self.path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            for row in reader:
                trouble = None
                if None in row:
                    values = len(self.columns) + len(row.pop(None))
                    trouble = InvalidInput(
                        f"{self.where(reader.line_num)} has {values} values, and the file "
                        f"{len(self.columns)} columns: put quotes around a value with a comma"
                    )
                yield TableRow(reader.line_num, row, trouble)

    def _json_rows(self) -> Iterator[TableRow]:
        with Path(self.path).open("rb") as file:
            for number, line in enumerate(file, 1):
                if not (text := _without_mark(line, number)).strip():
                    continue
                try:
                    found = json.loads(text)
                except (ValueError, RecursionError):
                    found = None
                if isinstance(found, dict):
                    yield TableRow(number, found)
                    continue
                begins = text[:40].decode(errors="replace").strip()
                trouble = InvalidInput(
                    f"{self.where(number)} must be a JSON object in UTF-8, got {begins!r}: "
                    f"{self.example}"
                )
                yield TableRow(number, {"text": text.decode(errors="replace").strip()}, trouble)

    def _parquet_rows(self) -> Iterator[TableRow]:
        from foretell.cli.parquet_file import parquet_rows
        from foretell.service.model.timestamps import format_timestamp

        for number, row in enumerate(parquet_rows(self.path, self.columns), 1):
            fields = dict(zip(self.columns, row, strict=True))
            for name, value in fields.items():
                if isinstance(value, int):
                    fields[name] = format_timestamp(value)
            yield TableRow(number, fields)


@contextmanager
def _csv_errors(path: str) -> Iterator[None]:
    """Say in one sentence why a file cannot be read as CSV."""
    try:
        yield
    except UnicodeDecodeError:
        raise InvalidInput(f"{path!r} is no text in UTF-8: save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise InvalidInput(
            f"{path!r} cannot be read as CSV ({error}): write it as CSV, JSON lines, or Parquet"
        ) from None


def number_in(where: str, column: str, text: str) -> float | None:
    """Return the number that a text is, None for an empty one, or raise that it is none."""
    if not text:
        return None
    try:
        found = math.nan if "_" in text else float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise InvalidInput(f"{where}: {column} must be a number, got {text!r}: or leave it empty")
    return found


def is_given(value: Any) -> bool:
    """Return whether a field of a row says something: no null, no empty text, no NaN."""
    return value not in (None, "") and value == value  # noqa: PLR0124  (NaN)


def _without_mark(line: bytes, number: int) -> bytes:
    return line.removeprefix(_UTF8_MARK) if number == 1 else line


def _names(path: str) -> list[str]:
    """Return the names in all lines of JSON; a line that cannot be read is named later."""
    decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
    names: dict[str, None] = {}
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                names.update(dict.fromkeys(decode(_without_mark(line, number))))
    return list(names)
