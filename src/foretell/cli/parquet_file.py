"""Parquet files, read with DuckDB where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from foretell.errors import DamagedFile, MissingExtra

_ROWS = 1000
"""Rows that are read at a time."""
_NUMBERS = ("FLOAT", "DOUBLE", "DECIMAL")
_KINDS = {"reward": "DOUBLE", "propensity": "DOUBLE"}


@contextmanager
def _connection(path: str) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra(
            "a Parquet file needs DuckDB, which is not installed: "
            "pip install 'foretell[parquet]', or use JSON lines"
        ) from None
    config: dict[str, Any] = {"autoinstall_known_extensions": False, "threads": 1}
    try:
        with duckdb.connect(config=config) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            yield connection
    except duckdb.Error as error:
        raise DamagedFile(
            f"{path!r} cannot be read as Parquet ({str(error).splitlines()[0]}): make it again"
        ) from None


def parquet_columns(path: str) -> list[str]:
    """Return the names of the columns of a file."""
    with _connection(path) as connection:
        return [name for name, _ in _described(connection, path)]


def count_parquet_rows(path: str) -> int:
    """Return how many rows a file has."""
    with _connection(path) as connection:
        rows = connection.execute("SELECT count(*) FROM read_parquet(?)", [path])
        return int(rows.fetchall()[0][0])


def parquet_rows(path: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Return some columns, row by row.

    Times are whole microseconds since 1970, numbers with decimals are floats, other values text.
    """
    with _connection(path) as connection:
        kinds = dict(_described(connection, path))
        for name in columns:
            if name not in kinds:
                raise DamagedFile(f"{path!r} has no column {name!r}: make it again")
        asked = ", ".join(_expression(name, kinds[name]) for name in columns)
        rows = connection.execute(f"SELECT {asked} FROM read_parquet(?)", [path])  # noqa: S608
        while found := rows.fetchmany(_ROWS):
            yield from found


def _described(connection: Any, path: str) -> list[tuple[str, str]]:
    rows = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [path])
    return [(row[0], row[1]) for row in rows.fetchall()]


def _expression(name: str, kind: str) -> str:
    """Return how a column is read."""
    quoted = '"' + name.replace('"', '""') + '"'
    if kind.startswith(("TIMESTAMP", "DATE")):
        return f"epoch_us({quoted}::TIMESTAMP)" if kind == "DATE" else f"epoch_us({quoted})"
    if kind.startswith(_NUMBERS):
        return f"{quoted}::DOUBLE"
    return f"{quoted}::{'VARCHAR' if kind == 'VARCHAR' else _KINDS.get(name, 'VARCHAR')}"
