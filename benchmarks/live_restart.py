"""A campaign with a million decisions, all open: memory, a restart, and a refit beside traffic."""

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
import asyncio, json, os, random, sys
from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.protocol import Draft
from foretell.service.model.events import Decided

async def fill(path, total):
    engine = await Engine.open(path, admin_key=sys.argv[3], durability="relaxed")
    await engine.create(protocol.NewCampaign("open", list("abcde"), ["none", "click", "buy"]))
    active, rng = engine.runtime.by_name["open"], random.Random(0)

    def decided():
        nonce, read = rng.getrandbits(64), active.campaign.position
        return Decided(active.version, rng.randrange(5), 0.2, 0, 5, nonce, read)

    async def append(count):
        async def some():
            for _ in range(count // 1000):
                drafts = [Draft(active.number, decided()) for _ in range(250)]
                await engine.runtime.log.append(drafts)

        await asyncio.gather(*[some() for _ in range(4)])
        await engine.settled()

    unsaved, resident = int(sys.argv[4]), []
    for tenth in range(10):
        await append(total // 10 - unsaved * (tenth == 9))
        resident.append(int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE"))
    active.save_due = True
    while active.unsaved:
        await asyncio.sleep(0.05)
    await append(unsaved)
    print(json.dumps(resident), flush=True)
    os._exit(0)

asyncio.run(fill(sys.argv[1], int(sys.argv[2])))
"""
"""Writes decisions in groups to the log, whose fold reads them: asking for each takes longer."""
UNSAVED = 9_000
"""Records since the last saved state when the process is killed: a few more, and it is saved."""

_REFIT = """
import json, statistics, sys, time
import foretell

def decide(client):
    taken = []
    for campaign in ("open", "other"):
        time.sleep(0.002)
        began = time.perf_counter()
        client.decide(campaign)
        taken.append(time.perf_counter() - began)
    return taken

def p99(taken):
    return statistics.quantiles(taken, n=100)[98]

url, key = sys.argv[1:]
with (
    foretell.Client(url, key=key, timeout=60) as admin,
    foretell.Client(url, key=key, timeout=0.05, fallback="a") as client,
):
    admin.create_campaign(name="other", actions=list("abcde"), signals=["none", "click"])
    decide(admin)
    alone = [taken for _ in range(1000) for taken in decide(client)]
    before, began = client.health().fallbacks, time.perf_counter()
    admin.patch_campaign("open", policy="nsd-kl")
    during, running = [], True
    while running:
        during += [taken for _ in range(50) for taken in decide(client)]
        running = admin.campaign("open").refit is not None
    seconds, after = time.perf_counter() - began, client.health().fallbacks
    assert admin.campaign("open").policy.startswith("nsd-kl")
slower = p99(during) / p99(alone)
print(json.dumps([slower, before, len(alone), after - before, len(during), seconds]))
"""
"""Decides with a limit of 50 ms, in both campaigns, before and while the policy of one changes."""


def live_restart() -> BenchmarkResult:
    """Measure a million open decisions: in memory, at a restart after a kill, and in a refit."""
    result = BenchmarkResult("A million decisions, all open")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = f"{folder}/open.db"
        output = subprocess.run(
            [sys.executable, "-c", _FILL, path, str(OPEN_DECISIONS), KEY, str(UNSAVED)],
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
            refit = [sys.executable, "-c", _REFIT, f"http://127.0.0.1:{port}", KEY]
            output = subprocess.run(refit, check=True, capture_output=True, text=True).stdout
            slower, before, alone, fallbacks, during, seconds = json.loads(output)
    result.at_most("restart with 1,000,000 records, CPU until ready", spent, 1.0, " s")
    result.add("refit of 1,000,000 records beside traffic", f"{seconds:.3g} s", seconds)
    result.at_most("p99 of decisions during it, over that before", slower, 2.0)
    result.add(f"fallbacks of {alone:,} SDK calls with 50 ms before it", str(before), before)
    result.must(
        f"fallbacks of {during:,} SDK calls with 50 ms meanwhile",
        str(fallbacks),
        "0",
        met=fallbacks == 0,
    )
    return result
