"""Reports of a campaign with a million decisions: how long each takes, and how long the loop waits.

Called as a program, as the benchmark does, it prints, for each report, the milliseconds of CPU that
a request takes, and the longest turn of the event loop meanwhile, in CPU of its thread: others
share the machine. Of several requests the quickest counts. Reports are made from kept counts, so
these are counted for a million decisions; the log itself holds the records that pages are read
from. A second campaign has a policy that keeps no hypotheses: what is believed of its actions is
made from the counts.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Raw

from benchmarks.measure import BenchmarkResult
from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.model.arrivals import Arrival
from foretell.service.model.counters import UNCOUNTED, Counted, Counters
from foretell.service.model.events import Decided, stamp
from foretell.service.model.outcome import Rules
from foretell.service.model.running import Running
from foretell.service.server import SWITCH_SECONDS

DECISIONS = 1_000_000
ACTIONS, SIGNALS = 50, 20
RECORDS = 20_000
TURNS = 4
DAYS = 90
_DAY = 86_400_000_000
_GRAINS = 2**30


def live_reports() -> BenchmarkResult:
    """Measure every report, in a process of its own."""
    result = BenchmarkResult(
        "Reports of 1,000,000 decisions, 50 actions and 20 signals: CPU, longest turn of the loop"
    )
    called = [sys.executable, "-m", "benchmarks.live_reports"]
    found = json.loads(subprocess.run(called, check=True, capture_output=True).stdout)
    for name, (spent, held) in found.items():
        result.at_most(f"{name}, CPU", spent, 200, " ms")
        result.at_most(f"{name}, longest turn of the event loop", held, 2, " ms")
    return result


def counted(rules: Rules, now: int) -> Counters:
    """Return the counts of a million decisions of the last ninety days."""
    rng = random.Random(0)  # noqa: S311  (not for secrets)
    counters = Counters(ACTIONS, SIGNALS)
    for number in range(DECISIONS):
        at = now - DAYS * _DAY + number * (DAYS * _DAY // DECISIONS)
        decided = Decided(1, rng.randrange(ACTIONS), 0.1, rng.randrange(3), ACTIONS, 0, 0)
        running = Running(rules, stamp(at), number, decided)
        counters.decide(running)
        shift = number > DECISIONS // 2 and decided.action == 0
        signal = rng.randrange(SIGNALS // 2) if shift else rng.randrange(SIGNALS)
        came = Arrival(round(rng.expovariate(1e-8)), late=False)
        paid = Arrival(round(rng.expovariate(1e-11)), late=rng.random() < 0.1)
        grains = _GRAINS * (rng.random() < 0.3)
        counters.move(
            running,
            UNCOUNTED,
            Counted(signal, grains, clipped=False, signal_arrival=came, reward_arrival=paid),
        )
    return counters


async def held_while(work: Callable[[], Awaitable[object]]) -> float:
    """Return the longest turn of the event loop, in CPU seconds of its thread, during a request."""
    longest, running = 0.0, True

    async def watch() -> None:
        nonlocal longest
        last = time.thread_time()
        while running:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest = max(longest, now - last)
            last = now

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0)
    msgspec.json.encode(await work())
    running = False
    await watcher
    return longest


async def _spent_on(work: Callable[[], Awaitable[object]]) -> float:
    """Return the CPU seconds of a request, in all threads."""
    began = time.process_time()
    msgspec.json.encode(await work())
    return time.process_time() - began


async def measure(path: str) -> dict[str, tuple[float, float]]:
    """Return for each report its milliseconds, and those for which the event loop was held."""
    sys.setswitchinterval(SWITCH_SECONDS)
    engine = await Engine.open(path, compiled=False)
    actions = [f"action-{n}" for n in range(ACTIONS)]
    signals = ["none", *(f"signal-{n}" for n in range(SIGNALS - 1))]
    await engine.create(protocol.NewCampaign("large", actions, signals))
    ids = []
    for _ in range(0, RECORDS // 2, 500):
        asked = [engine.decide("large", protocol.DecisionRequest()) for _ in range(500)]
        ids += [answer.decision_id for answer, _ in await asyncio.gather(*asked)]
    events = [
        Raw(msgspec.json.encode({"decision_id": one, "signal": "signal-1", "event_id": one[-40:]}))
        for one in ids
    ]
    for begin in range(0, len(events), 1000):
        await engine.batch(events[begin : begin + 1000])
    await engine.report("large")
    await engine.create(protocol.NewCampaign("counted", actions, signals, policy="ucb"))
    campaigns = [engine.runtime.by_number[number].campaign for number in (1, 2)]
    campaigns[0].counters = counted(campaigns[0].rules, campaigns[0].as_of)
    campaigns[1].counters = campaigns[0].counters.copy()
    names = ("report", "validity", "timeseries", "delays", "signals", "changes")
    reads: dict[str, Callable[[], Awaitable[object]]] = {
        name: partial(getattr(engine, name), "large") for name in names
    }
    for name in ("report", "validity", "changes"):
        reads[f"{name} (ucb)"] = partial(getattr(engine, name), "counted")
    kinds: tuple[protocol.RecordType | None, ...] = (None, "signal", "configuration")
    for kind in kinds:
        name = "events" if kind is None else f"events?type={kind}"
        reads[name] = partial(engine.record_page, "large", 0, 100, kind)
    found = {}
    for name, read in reads.items():
        turns = []
        for _ in range(TURNS):
            spent, held = await _spent_on(read), 0.0
            held = await held_while(read)
            turns.append((spent, held))
        found[name] = 1e3 * min(taken for taken, _ in turns), 1e3 * min(gap for _, gap in turns)
    await engine.close()
    return found


def main() -> None:
    """Print what was measured, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(asyncio.run(measure(str(Path(folder) / "reports.db")))))


if __name__ == "__main__":
    main()
