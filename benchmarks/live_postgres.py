"""The log in PostgreSQL: CPU a record of each part, latency against the file, and the tail's lag.

A server of PostgreSQL is started for it, with its usual settings: commits wait for the disk. CPU is
that of the processes, so other programs on the machine change it little; latencies are taken in
turns with a service on a file.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import asyncpg

from benchmarks.live_server import (
    KEY,
    Load,
    Server,
    create_campaign,
    decide_path,
    load,
    serve,
)
from benchmarks.measure import BenchmarkResult
from benchmarks.postgres_process import PostgresProcess, postgres_process

KEYS = 1_000_000
RECORDS = 20_000
FEW_TURNS = 3
BATCH = 250
EVENTS = 4_000
PACE = 20
"""Decisions per second at one connection."""
_FILL = """
INSERT INTO {table}
  SELECT 1, substr(sha256(number::text::bytea), 1, 12), number
  FROM generate_series(1, $1::bigint) AS number
"""


def live_postgres() -> BenchmarkResult:
    """Measure writers, the service and the tail on a log in PostgreSQL."""
    result = BenchmarkResult("The log in PostgreSQL, commits on disk, all on one machine")
    with postgres_process() as server:
        _writers(result, server)
        _tail(result, server)
        _service(result, server)
    result.notes.append(
        f"{KEYS:,} keys were claimed before; CPU of PostgreSQL is that of all its processes."
    )
    return result


def _run(job: dict[str, Any]) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.postgres_writer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    return process


def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    with process.stdout:
        answer: dict[str, Any] = json.loads(process.stdout.read())
    assert process.wait() == 0
    return answer


def _writers(result: BenchmarkResult, server: PostgresProcess) -> None:
    """Let one process, and then two, write batches with keys of their own.

    They take turns with the driver alone, which inserts as many rows of the same size into tables
    as large: that is what the machine takes at least.
    """
    _answer(_run({"kind": "write", "dsn": server.dsn, "records": 2 * BATCH, "batch": BATCH}))
    _answer(_run({"kind": "bare", "dsn": server.dsn, "records": BATCH, "batch": BATCH}))
    for table in ("foretell.keys", "bare_keys"):
        asyncio.run(_fill(server.dsn, table))
    for writers in (1, 2):
        turns = [
            {kind: _write(server, kind, writers) for kind in ("bare", "write")}
            for _ in range(FEW_TURNS)
        ]
        named = f"{writers} writer{'s' * (writers > 1)}, {BATCH} a batch"
        for part, target in (("PostgreSQL", 30), ("the writer", 15)):
            found = statistics.median(turn["write"][part] for turn in turns)
            ratio = statistics.median(turn["write"][part] / turn["bare"][part] for turn in turns)
            result.at_most(f"{named}: CPU of {part} a record", found, target, " µs")
            against = f"{named}: CPU of {part} against bare inserts"
            result.add(against, f"{ratio:.2f}x", ratio)
            bare = statistics.median(turn["bare"][part] for turn in turns)
            result.add(f"{named}: CPU of {part} a bare insert", f"{bare:.3g} µs", bare)
        rate = statistics.median(turn["write"]["rate"] for turn in turns)
        result.add(f"{named}: records", f"{rate:.0f} /s", rate)


def _write(server: PostgresProcess, kind: str, writers: int) -> dict[str, float]:
    """Return the CPU of each part in microseconds a record, and the records per second."""
    before = server.cpu()
    job = {"kind": kind, "dsn": server.dsn, "records": RECORDS, "batch": BATCH}
    found = [_answer(one) for one in [_run(job) for _ in range(writers)]]
    records = sum(one["records"] for one in found)
    return {
        "PostgreSQL": 1e6 * (server.cpu() - before) / records,
        "the writer": 1e6 * sum(one["cpu"] for one in found) / records,
        "rate": records / max(one["seconds"] for one in found),
    }


async def _fill(dsn: str, table: str) -> None:
    """Claim many keys before; the pages of both tables are in the write-ahead log once then."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(_FILL.format(table=table), KEYS)
        await connection.execute(f"VACUUM ANALYZE {table}")
    finally:
        await connection.close()


def _tail(result: BenchmarkResult, server: PostgresProcess) -> None:
    lags = _answer(_run({"kind": "follow", "dsn": server.dsn, "records": 300}))["lags"]
    cuts = statistics.quantiles(lags, n=100)
    for share in (50, 99):
        lag = 1000 * cuts[share - 1]
        result.add(f"until another process has a record, p{share}", f"{lag:.3g} ms", lag)


def _service(result: BenchmarkResult, server: PostgresProcess) -> None:
    """Compare the service on PostgreSQL with one on a file, and measure what each part takes."""
    with tempfile.TemporaryDirectory(dir=".") as folder, ExitStack() as stack:
        asyncio.run(_clear(server.dsn))
        on_file = stack.enter_context(serve(f"{folder}/bench.db"))
        deciders = [stack.enter_context(serve(server.dsn))]
        create_campaign(on_file.port, "small", 5, 3)
        create_campaign(deciders[0].port, "small", 5, 3)
        _latency(result, on_file, deciders[0])
        _batches(result, server, deciders)
        deciders.append(stack.enter_context(serve(server.dsn)))
        _batches(result, server, deciders)


async def _clear(dsn: str) -> None:
    """Remove what the writers have written, which belongs to no campaign."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("DROP SCHEMA foretell CASCADE")
    finally:
        await connection.close()


def _latency(result: BenchmarkResult, on_file: Server, decider: Server) -> None:
    asked = {"kind": "open", "connections": 1, "rate": PACE, "seconds": 5.0}
    taken: dict[str, list[list[float]]] = {"file": [], "PostgreSQL": []}
    for _ in range(FEW_TURNS):
        for name, server in (("file", on_file), ("PostgreSQL", decider)):
            job = {**asked, "port": server.port, "path": decide_path("small")}
            taken[name].append(statistics.quantiles(load(job).found, n=100))
    for share in (50, 99):
        medians = {
            name: statistics.median(cuts[share - 1] for cuts in turns)
            for name, turns in taken.items()
        }
        for name, seconds in medians.items():
            result.add(
                f"decide on {name}, p{share} at 1 connection",
                f"{1000 * seconds:.3g} ms",
                1000 * seconds,
            )
        ratio = medians["PostgreSQL"] / medians["file"]
        result.add(f"decide on PostgreSQL against the file, p{share}", f"{ratio:.2f}x", ratio)


def _batches(result: BenchmarkResult, server: PostgresProcess, deciders: list[Server]) -> None:
    """Ask for decisions, then send batches of feedback, through all deciders at once."""
    named = f"{len(deciders)} decider{'s' * (len(deciders) > 1)}"
    ask = {"kind": "many", "connections": 16, "path": decide_path("small")}
    bodies = ["{}"] * (EVENTS // len(deciders))
    answers = _measured(
        result,
        f"{named}, single decisions",
        server,
        [{**ask, "port": one.port, "bodies": bodies} for one in deciders],
        deciders,
    )
    events = [
        {"decision_id": one["decision_id"], "signal": "s1", "event_id": f"{len(deciders)}-{n}"}
        for n, one in enumerate(answers)
    ]
    sent = [
        json.dumps({"events": events[start : start + BATCH]}) for start in range(0, EVENTS, BATCH)
    ]
    ask = {"kind": "many", "connections": 2, "path": "/v1/events/batch"}
    _measured(
        result,
        f"{named}, {BATCH} events a request",
        server,
        [
            {**ask, "port": one.port, "bodies": sent[number :: len(deciders)]}
            for number, one in enumerate(deciders)
        ],
        deciders,
    )


def _load(job: dict[str, Any]) -> Load:
    """Run a load generator whose answers, which are long, go through a file."""
    with tempfile.TemporaryFile("w+") as answers:
        subprocess.run(
            [sys.executable, "-m", "benchmarks.live_load"],
            input=json.dumps({"key": KEY, **job}),
            stdout=answers,
            check=True,
            text=True,
        )
        answers.seek(0)
        return Load(*json.load(answers))


def _measured(
    result: BenchmarkResult,
    named: str,
    server: PostgresProcess,
    jobs: list[dict[str, Any]],
    deciders: list[Server],
) -> list[Any]:
    """Run a load on each decider, and add the CPU that each part took for one of the records."""
    before = server.cpu(), sum(one.cpu() for one in deciders)
    with ThreadPoolExecutor(len(jobs)) as pool:
        loads = list(pool.map(_load, jobs))
    parts = {
        "PostgreSQL": server.cpu() - before[0],
        "the deciders": sum(one.cpu() for one in deciders) - before[1],
        "the load generators": sum(one.cpu for one in loads),
    }
    for part, seconds in parts.items():
        taken = 1e6 * seconds / EVENTS
        result.add(f"{named}: CPU of {part} a record", f"{taken:.3g} µs", taken)
    return [answer for one in loads for answer in one.found[1]]
