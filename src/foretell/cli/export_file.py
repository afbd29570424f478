"""The files that `GET …/export` gives: NDJSON and Parquet, record by record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.errors import DamagedFile, InvalidInput

if TYPE_CHECKING:
    from foretell.protocol import RecordView

_PARQUET = b"PAR1"


def read_records(path: str) -> Iterator[RecordView]:
    """Read the records of an export; its content says what it is, not its name."""
    if not Path(path).is_file():
        raise InvalidInput(f"there is no file {path!r}: check its name")
    with Path(path).open("rb") as file:
        parquet = file.read(len(_PARQUET)) == _PARQUET
    return _parquet(path) if parquet else _ndjson(path)


def _ndjson(path: str) -> Iterator[RecordView]:
    import msgspec

    from foretell.protocol import RecordView

    decode = msgspec.json.Decoder(RecordView).decode
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise _no_record(f"line {number}", path) from None


def _no_record(where: str, path: str) -> DamagedFile:
    return DamagedFile(
        f"{where} of {path!r} is no record of an export: "
        f"make the file again with GET /v1/campaigns/NAME/export"
    )


def _parquet(path: str) -> Iterator[RecordView]:
    from foretell.cli.parquet_file import parquet_rows
    from foretell.protocol import RecordView
    from foretell.service.model.timestamps import format_timestamp

    rows = parquet_rows(path, ("seq", "recorded_at", "type", "body"))
    for number, (seq, recorded_at, kind, body) in enumerate(rows, 1):
        try:
            view = RecordView(seq, format_timestamp(recorded_at), kind, json.loads(body))
        except (ValueError, TypeError, RecursionError, OverflowError):
            raise _no_record(f"row {number}", path) from None
        yield view
