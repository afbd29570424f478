"""Rows of the tables: records in columns, many rows in one statement, and checked settings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import apsw
import msgspec

from foretell.service.log.errors import Damaged
from foretell.service.log.record import StoredRow, row_checksum

COLUMNS = "seq, campaign, decision, body, checksum"
"""The columns of a record."""
PREFIXED = ", ".join(f"events.{column}" for column in COLUMNS.split(", "))
"""The same, where other tables are read with them."""
CHUNKS = (128, 16)
"""Rows that go into one statement: many, or few, or all of an even smaller rest."""


def row_of(columns: Sequence[Any]) -> StoredRow:
    """Return a record as it was stored; the decision of a decision is its own number."""
    seq, campaign, decision, body, checksum = columns
    return StoredRow(seq, campaign, seq if decision is None else decision, body, checksum)


def columns_of(row: StoredRow) -> tuple[Any, ...]:
    """Return the columns of a record."""
    seq, campaign, decision, body, checksum = row
    return (seq, campaign, None if decision == seq else decision, body, checksum)


def insert(connection: apsw.Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows."""
    if rows:
        insert_values(connection, table, len(rows[0]), [value for row in rows for value in row])


def insert_values(connection: apsw.Connection, table: str, width: int, values: list[Any]) -> None:
    """Insert rows of so many columns, whose values follow one another.

    Many go into one statement: each statement may have to wait for other threads.
    """
    for some in in_chunks(values, width):
        connection.execute(_insertion(table, width, len(some) // width), some)


@cache
def _insertion(table: str, width: int, count: int) -> str:
    row = f"({', '.join('?' * width)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * count)}"


def find(
    connection: apsw.Connection, table: str, keys: Sequence[str], values: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a table whose key columns have one of these values."""
    width = len(keys)
    for some in in_chunks([value for row in values for value in row], width):
        yield from connection.execute(_lookup(table, tuple(keys), len(some) // width), some)


@cache
def _lookup(table: str, keys: tuple[str, ...], count: int) -> str:
    row = f"({', '.join('?' * len(keys))})"
    wanted = f"(VALUES {', '.join([row] * count)})"
    matches = " AND ".join(f"{key} = column{number}" for number, key in enumerate(keys, 1))
    return f"SELECT {table}.* FROM {wanted} CROSS JOIN {table} ON {matches}"


def in_chunks(values: list[Any], width: int) -> Iterator[list[Any]]:
    """Cut rows so that there are few different numbers of them: each is a prepared statement."""
    start = 0
    for size in (width * rows for rows in CHUNKS):
        while len(values) - start >= size:
            yield values[start : start + size]
            start += size
    if start < len(values):
        yield values[start:]


def as_json(numbers: Sequence[int]) -> str:
    """Return numbers for `json_each`."""
    return msgspec.json.encode(numbers).decode()


def read_settings(connection: apsw.Connection) -> dict[str, Any]:
    """Return all settings, or raise `Damaged`: one whose name is damaged is not another's lack."""
    settings: dict[str, Any] = {}
    try:
        rows = connection.execute("SELECT name, value, checksum FROM meta").fetchall()
    except UnicodeDecodeError:
        raise Damaged("one of the settings") from None
    for name, value, checksum in rows:
        if not isinstance(name, str) or row_checksum(name, value) != checksum:
            raise Damaged(f"the setting {name!r}")
        settings[name] = value
    return settings


def write_settings(connection: apsw.Connection, **settings: str | float) -> None:
    """Store settings, in place of those before: all of them, or none."""
    rows = ", ".join(["(?, ?, ?)"] * len(settings))
    values = [(name, value, row_checksum(name, value)) for name, value in settings.items()]
    connection.execute(
        f"INSERT OR REPLACE INTO meta VALUES {rows}", [one for row in values for one in row]
    )
