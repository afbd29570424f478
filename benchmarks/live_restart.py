"""A campaign with a million decisions, all open: its memory, and a restart of its server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.live_server import KEY, cpu_of, free_port, running
from benchmarks.measure import BenchmarkResult

OPEN_DECISIONS = 1_000_000
_FILL = """
import asyncio, json, os, sys
from foretell import protocol
from foretell.service.engine import Engine

async def fill(path, total):
    engine = await Engine.open(path, admin_key=sys.argv[3])
    await engine.create(protocol.NewCampaign("open", list("abcde"), ["none", "click", "buy"]))

    async def decide(times):
        for _ in range(times):
            await engine.decide("open", protocol.DecisionRequest())

    resident = []
    for _ in range(10):
        await asyncio.gather(*[decide(total // 10 // 500) for _ in range(500)])
        resident.append(int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE"))
    print(json.dumps(resident), flush=True)
    os._exit(0)

asyncio.run(fill(sys.argv[1], int(sys.argv[2])))
"""


def live_restart() -> BenchmarkResult:
    """Measure what a million open decisions take in memory, and at a restart after a kill."""
    result = BenchmarkResult("A million decisions, all open")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = f"{folder}/open.db"
        output = subprocess.run(
            [sys.executable, "-c", _FILL, path, str(OPEN_DECISIONS), KEY],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        resident = json.loads(output)
        grown = (resident[-1] - resident[0]) / 2**20
        result.at_most("memory from 100,000 to 1,000,000 decisions", grown, 64, " MiB")
        port = free_port()
        command = [sys.executable, "-m", "foretell", "serve", "--db", path, "--port", str(port)]
        with running(command, f"http://127.0.0.1:{port}/readyz", os.environ) as process:
            spent = cpu_of(process.pid)
    result.at_most("restart with 1,000,000 records, CPU until ready", spent, 1.0, " s")
    return result
