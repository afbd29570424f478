"""A process that writes a log in PostgreSQL, or follows it, and prints what it took, as JSON."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
import sys
import time
from contextlib import aclosing
from typing import Any

import asyncpg

from foretell.service.log.open import open_log
from foretell.service.log.protocol import Draft
from foretell.service.model.events import Feedback, encode_event


async def write(dsn: str, records: int, batch: int) -> dict[str, Any]:
    """Append feedback with keys of its own, a batch at a time; return the CPU seconds it took."""
    log = await open_log(dsn)
    name = f"{os.getpid()}"
    drafts = [
        Draft(1, Feedback(1, f"{name}-{n}", 0, 0, 1.0), 1, ((1, f"e:{name}-{n}".encode()),))
        for n in range(records)
    ]
    await log.append(drafts[:batch])
    gc.freeze()  # as the server does when it has started
    began, cpu = time.perf_counter(), time.process_time()
    for start in range(batch, records, batch):
        await log.append(drafts[start : start + batch])
    took = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - began}
    await log.close()
    return took | {"records": records - batch}


BARE_TABLES = """
CREATE TABLE IF NOT EXISTS bare_keys (
  campaign bigint, key bytea, seq bigint, PRIMARY KEY (campaign, key));
CREATE TABLE IF NOT EXISTS bare_events (
  seq bigint PRIMARY KEY, campaign bigint, decision bigint, body bytea, checksum integer);
"""
BARE_INSERT = """
WITH claimed AS (
  INSERT INTO bare_keys SELECT 1, * FROM unnest($1::bytea[], $2::bigint[]) ORDER BY 2
  ON CONFLICT DO NOTHING)
INSERT INTO bare_events
  SELECT seq, 1, 1, body, 1 FROM unnest($2::bigint[], $3::bytea[]) AS one (seq, body)
"""


async def insert_bare(dsn: str, records: int, batch: int) -> dict[str, Any]:
    """Insert rows as large with the driver alone: no chain, no checksum, no stream."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(BARE_TABLES)
    first = time.time_ns()
    keys = [hashlib.blake2b(b"%d" % (first + n), digest_size=12).digest() for n in range(records)]
    body = encode_event(Feedback(1, f"{os.getpid()}-0", 0, 0, 1.0))
    began, cpu = time.perf_counter(), time.process_time()
    for start in range(0, records, batch):
        some = keys[start : start + batch]
        seqs = list(range(first + start, first + start + len(some)))
        await connection.execute(BARE_INSERT, some, seqs, [body] * len(some))
    took = {"cpu": time.process_time() - cpu, "seconds": time.perf_counter() - began}
    await connection.close()
    return took | {"records": records}


async def follow(dsn: str, records: int) -> dict[str, Any]:
    """Append single records to one stream, and measure until the tail of another process has each.

    Both are in this process; each has a stream, a watch and connections of its own.
    """
    one, other = await open_log(dsn), await open_log(dsn)
    arrived: dict[int, float] = {}
    done = asyncio.Event()

    async def listen() -> None:
        async with aclosing(other.tail(other.head())) as tail:  # type: ignore[type-var]
            async for item in tail:
                arrived.update((record.seq, time.perf_counter()) for record in item.records)
                if len(arrived) >= records:
                    done.set()

    listening = asyncio.create_task(listen())
    await asyncio.sleep(1)
    sent: dict[int, float] = {}
    for n in range(records):
        event = Feedback(1, f"{n}", 0, 0, 1.0)
        (written,) = await one.append([Draft(1, event, 1)])
        sent[written.record.seq] = time.perf_counter()  # type: ignore[union-attr]
        await asyncio.sleep(0.01)
    await asyncio.wait_for(done.wait(), 60)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    await one.close()
    await other.close()
    return {"lags": [arrived[seq] - moment for seq, moment in sent.items()]}


if __name__ == "__main__":
    job = json.load(sys.stdin)
    kind, works = job.pop("kind"), {"write": write, "bare": insert_bare}
    print(json.dumps(asyncio.run(works[kind](**job) if kind in works else follow(**job))))
