"""The log of a campaign, written out whole: as NDJSON, or as a Parquet file.

In Parquet a record is a row: what every tool wants is a column of its own, the rest is JSON.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncGenerator, AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from foretell import protocol
from foretell.files import open_private
from foretell.service.http.bodies import NDJSON
from foretell.service.http.operation import RequestContext
from foretell.service.http.responses import Response, encode, file_response
from foretell.service.log.errors import FULL, READ_ONLY, SHORT
from foretell.service.model.errors import NotInstalled

PARQUET = b"application/vnd.apache.parquet"
COLUMNS = {
    "seq": "BIGINT",
    "recorded_at": "TIMESTAMPTZ",
    "type": "VARCHAR",
    "decision_id": "VARCHAR",
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
_CHUNK = 1 << 16


async def export(context: RequestContext) -> Response:
    """Send the log as NDJSON while it is read, or as a Parquet file once it is made."""
    name = context.engine.campaign(context.params["campaign"]).name
    if context.query.format == "ndjson":
        return Response(200, _ndjson(context.engine.export(name)), media=NDJSON)
    if find_spec("duckdb") is None:
        raise NotInstalled(
            "a Parquet file needs DuckDB, which is not installed where the service runs: "
            "install it there with pip install 'foretell[parquet]', or ask for format=ndjson"
        )

    async def write(path: str) -> None:
        await _write_parquet(context.engine.export(name), Path(path))

    make, method = context.engine.scratch_folder, context.scope["method"]
    return await file_response(method, make, write, f"{name}.parquet", PARQUET)


async def _ndjson(
    log: AsyncIterator[protocol.RecordView], *, rows: bool = False
) -> AsyncGenerator[bytes]:
    """Gather records into chunks: a chunk for each would cost more than the record."""
    waiting = bytearray()
    async for record in log:
        waiting += encode(_row(record) if rows else record)
        waiting += b"\n"
        if len(waiting) >= _CHUNK:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)


def _row(record: protocol.RecordView) -> dict[str, Any]:
    """Return the row of a record: its columns, and its whole body as JSON text."""
    return {name: record.body.get(name) for name in _OF_BODY} | {
        "seq": record.seq,
        "recorded_at": record.recorded_at,
        "type": record.type,
        "body": encode(record.body).decode(),
    }


async def _write_parquet(log: AsyncIterator[protocol.RecordView], path: Path) -> None:
    rows = path.with_suffix(".ndjson")
    with open_private(rows) as file:
        async for chunk in _ndjson(log, rows=True):
            await asyncio.to_thread(file.write, chunk)
    await asyncio.to_thread(_convert, rows, path)


def _convert(rows: Path, parquet: Path) -> None:
    """Turn rows in NDJSON into a Parquet file, in little memory and without any download."""
    import duckdb

    config: dict[str, Any] = {
        "autoinstall_known_extensions": False,
        "threads": 1,
        "temp_directory": str(parquet.parent),
    }
    open_private(parquet).close()
    try:
        with duckdb.connect(config=config) as connection:
            relation = connection.read_json(
                str(rows), columns=COLUMNS, format="newline_delimited", maximum_object_size=1 << 26
            )
            relation.write_parquet(str(parquet))
    except duckdb.IOException as error:
        raise _as_os_error(error) from None


def _as_os_error(error: Exception) -> OSError:
    """Return DuckDB's error, which is only words, as one with a number: EIO if none fits."""
    known = (*FULL, *READ_ONLY, *SHORT)
    number = next((one for one in known if os.strerror(one) in str(error)), errno.EIO)
    return OSError(number, os.strerror(number))
