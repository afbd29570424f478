"""The log of a campaign, written out whole: line by line, or as a table."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

from foretell import protocol
from foretell.service.http.call import NDJSON, Call, Reply, encode
from foretell.service.http.files import send_file
from foretell.service.http.parquet import row_of, to_parquet

PARQUET = b"application/vnd.apache.parquet"
_PIECE = 1 << 16


async def export(call: Call) -> Reply:
    """Send the log as NDJSON while it is read, or as a Parquet file once it is made."""
    name = call.engine.campaign(call.params["campaign"]).name
    log = call.engine.export(name)
    if call.query.format == "ndjson":
        return Reply(200, _pieces(log), media=NDJSON)

    async def write(path: str) -> None:
        await _write_parquet(log, Path(path))

    return await send_file(call, write, f"{name}.parquet", PARQUET)


async def _pieces(
    log: AsyncIterator[protocol.RecordView], *, rows: bool = False
) -> AsyncGenerator[bytes]:
    """Gather lines into pieces of NDJSON: a piece for each line would cost more than the line."""
    waiting = bytearray()
    async for line in log:
        waiting += encode(row_of(line) if rows else line)
        waiting += b"\n"
        if len(waiting) >= _PIECE:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)


async def _write_parquet(log: AsyncIterator[protocol.RecordView], path: Path) -> None:
    table = path.with_suffix(".ndjson")
    with table.open("wb") as file:
        async for part in _pieces(log, rows=True):
            await asyncio.to_thread(file.write, part)
    await asyncio.to_thread(to_parquet, table, path)
