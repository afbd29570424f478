"""`foretell feedback`: the processor time that a million rows take, and what becomes of them."""

from __future__ import annotations

import csv
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import foretell
from benchmarks.measure import BenchmarkResult
from tests.service.server_process import CAMPAIGN, Server, environment

ROWS = 1_000_000
DECISIONS = 2_000
"""Decisions that the rows are about, in turn."""


def feedback_file() -> BenchmarkResult:
    """Send a CSV file of a million rewards to a real server."""
    result = BenchmarkResult(f"foretell feedback, {ROWS:,} rows of CSV")
    with tempfile.TemporaryDirectory(dir=".") as folder, Server(Path(folder)) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        path = Path(folder) / "orders.csv"
        _write(path, server)
        command = [sys.executable, "-m", "foretell", "feedback", str(path)]
        variables = environment(FORETELL_URL=server.url, FORETELL_KEY=server.key)
        before, begun = _children_seconds(), time.monotonic()
        sent = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        spent, waited = _children_seconds() - before, time.monotonic() - begun
    said = sent.stdout.strip() or sent.stderr.strip()
    accepted = f"{ROWS:,} events: {ROWS:,} accepted."
    result.must("what became of them", said, accepted, met=said == accepted)
    result.at_most("processor time of the command", spent, 120, " s")
    result.add("until all was on the service's disk", f"{waited:.0f} s", waited)
    return result


def _write(path: Path, server: Server) -> None:
    with foretell.Client(server.url, key=server.key, timeout=60) as client:
        ids = [client.decide("home-hero").id for _ in range(DECISIONS)]
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["Decision ID", "order", "reward", "event_time", "event_id"])
        for number in range(ROWS):
            about = ids[number % DECISIONS]
            rows.writerow([about, number, number % 2, "2026-11-01T00:00:00Z", f"order-{number}"])


def _children_seconds() -> float:
    """Return the processor time of the programs that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
