"""The log as a Parquet file: one row a line, what every tool wants as columns, the rest as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretell import protocol
from foretell.service.http.call import encode

COLUMNS = {
    "seq": "BIGINT",
    "recorded_at": "TIMESTAMPTZ",
    "type": "VARCHAR",
    "decision_id": "VARCHAR",
    "round": "BIGINT",
    "action": "VARCHAR",
    "signal": "VARCHAR",
    "value": "DOUBLE",
    "event_id": "VARCHAR",
    "kind": "VARCHAR",
    "target": "VARCHAR",
    "propensity": "DOUBLE",
    "mode": "VARCHAR",
    "occurred_at": "VARCHAR",
    "body": "VARCHAR",
}
_OF_RECORD = ("seq", "recorded_at", "type", "body")
_OF_BODY = tuple(name for name in COLUMNS if name not in _OF_RECORD)


def row_of(line: protocol.RecordView) -> dict[str, Any]:
    """Return the row of a line of the log: its columns, and its whole body as JSON text."""
    row: dict[str, Any] = {name: line.body.get(name) for name in _OF_BODY}
    row.update(
        seq=line.seq, recorded_at=line.recorded_at, type=line.type, body=encode(line.body).decode()
    )
    return row


def to_parquet(rows: Path, table: Path) -> None:
    """Turn rows in NDJSON into a Parquet file, in little memory and without any download."""
    import duckdb

    config: dict[str, Any] = {"autoinstall_known_extensions": False, "threads": 1}
    with duckdb.connect(config=config) as connection:
        relation = connection.read_json(
            str(rows), columns=COLUMNS, format="newline_delimited", maximum_object_size=1 << 26
        )
        relation.write_parquet(str(table))
