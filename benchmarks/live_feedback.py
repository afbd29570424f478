"""Feedback in large batches: how fast it becomes durable, and how far the fold lags behind."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from benchmarks.live_server import KEY, create_campaign, decide_path, load, serve
from benchmarks.measure import BenchmarkResult

EVENTS = 60_000
STORED_DECISIONS = 20_000
_FILL = """
import asyncio, json, sys
from msgspec import Raw
from foretell import protocol
from foretell.service.engine import Engine

async def fill(path, total):
    engine = await Engine.open(path, admin_key=sys.argv[3])
    await engine.create(protocol.NewCampaign("c", list("abcde"), ["none", "click", "buy"]))
    for start in range(0, total, 500):
        asked = [engine.decide("c", protocol.DecisionRequest()) for _ in range(500)]
        ids = [answer.decision_id for answer, _ in await asyncio.gather(*asked)]
        events = [{"decision_id": one, "signal": "click", "event_id": f"s{start + n}"}
                  for n, one in enumerate(ids)]
        events += [{"decision_id": one, "value": 1.0, "event_id": f"r{start + n}"}
                   for n, one in enumerate(ids)]
        await engine.batch([Raw(json.dumps(event).encode()) for event in events])
    await engine.close()

asyncio.run(fill(sys.argv[1], int(sys.argv[2])))
"""


def live_feedback() -> BenchmarkResult:
    """Measure batches of feedback, and the bytes that a decision takes with it."""
    result = BenchmarkResult("Feedback, every answer on disk")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        with serve(f"{folder}/bench.db") as server:
            create_campaign(server.port, "small", 5, 3)
            _batches(result, server.port)
        _bytes(result, folder)
    return result


def _batches(result: BenchmarkResult, port: int) -> None:
    ids = _ids(port, EVENTS // 2)
    _wait_for_fold(port)
    events: list[dict[str, Any]] = [
        {"decision_id": one, "signal": "s1", "event_id": f"s{n}"} for n, one in enumerate(ids)
    ]
    events += [{"decision_id": one, "value": 1.0, "event_id": f"r{n}"} for n, one in enumerate(ids)]
    bodies = [
        json.dumps({"events": events[start : start + 1000]}) for start in range(0, EVENTS, 1000)
    ]
    job = {"kind": "many", "connections": 4, "port": port, "path": "/v1/events/batch"}
    seconds, answers = load({**job, "bodies": bodies}).found
    lag = _wait_for_fold(port)
    assert all(one["status"] == "accepted" for answer in answers for one in answer["results"])
    result.at_least("durable feedback in batches of 1,000", EVENTS / seconds, 30_000, " events/s")
    result.add("until the fold has read the last of it", f"{lag:.3g} s", lag)


def _wait_for_fold(port: int) -> float:
    """Return the seconds until a report, which waits for the fold, has read all that is stored."""
    began = time.perf_counter()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/campaigns/small/delays",
        headers={"Authorization": f"Bearer {KEY}"},
    )
    urllib.request.urlopen(request, timeout=60).close()  # noqa: S310  (our own server)
    return time.perf_counter() - began


def _ids(port: int, count: int) -> list[str]:
    job = {"kind": "many", "connections": 32, "port": port, "path": decide_path("small")}
    _, answers = load({**job, "bodies": ["{}"] * count}).found
    return [answer["decision_id"] for answer in answers]


def _bytes(result: BenchmarkResult, folder: str) -> None:
    path = f"{folder}/stored.db"
    subprocess.run([sys.executable, "-c", _FILL, path, str(STORED_DECISIONS), KEY], check=True)
    stored = Path(path).stat().st_size / STORED_DECISIONS
    result.at_most("bytes a decision with its signal and reward", stored, 343, " bytes")
