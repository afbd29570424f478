"""What a campaign costs by its size: bytes, CPU and memory, compiled and not.

`python -m benchmarks.sizing` prints the tables of docs/how-to/size.md. Each size is measured in a
process of its own, without HTTP: an engine on a new SQLite file decides, and hears a signal and a
reward of every decision.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import click

from foretell import protocol
from foretell.service.engine import Engine

SIZES = ((2, 2), (10, 5), (100, 5), (1000, 10))
DECISIONS = 3000
TOGETHER = 20
"""Decisions that are asked for at the same time, so that CPU counts and not the disk."""


def memory() -> float:
    """Return the largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure(
    actions: int, signals: int, *, compiled: bool, decisions: int
) -> dict[str, float]:
    """Run one campaign, and return what a decision of it costs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.db"
        before = memory()
        engine = await Engine.open(path, compiled=compiled)
        names = [f"signal-{number}" for number in range(1, signals)]
        await engine.create(
            protocol.NewCampaign("c", [f"action-{number}" for number in range(actions)], names)
        )
        await engine.maintenance.compile_large()
        began = time.process_time()
        ids = [
            answer.decision_id
            for _ in range(0, decisions, TOGETHER)
            for answer, _ in await asyncio.gather(
                *(engine.decide("c", protocol.DecisionRequest()) for _ in range(TOGETHER))
            )
        ]
        decided = time.process_time()
        for first, last in pairwise(range(0, decisions + 1, TOGETHER)):
            await asyncio.gather(
                *(
                    engine.feedback(one, protocol.SignalReport(names[-1]))
                    for one in ids[first:last]
                ),
                *(engine.feedback(one, protocol.RewardReport(1.0)) for one in ids[first:last]),
            )
        await engine.settled()
        heard = time.process_time()
        grown = memory() - before
        await engine.close()
        return {
            "microseconds_a_decision": (decided - began) / decisions * 1e6,
            "microseconds_a_report": (heard - decided) / decisions / 2 * 1e6,
            "bytes_a_decision": path.stat().st_size / decisions,
            "memory": memory(),
            "memory_of_the_campaign": grown,
        }


@click.command()
@click.option(
    "--one", nargs=3, type=int, help="Measure one size: actions, signals, compiled or not."
)
@click.option("--decisions", default=DECISIONS, show_default=True)
def main(one: tuple[int, int, int] | None, decisions: int) -> None:
    """Measure every size, with numba and without."""
    if one is not None:
        actions, signals, compiled = one
        found = measure(actions, signals, compiled=bool(compiled), decisions=decisions)
        print(json.dumps(asyncio.run(found)))
        return
    print("| actions × signals | numba | CPU a decision | CPU a report | bytes | memory |")
    print("|---|---|---|---|---|---|")
    for actions, signals in SIZES:
        for compiled in (False, True):
            asked = ["--one", str(actions), str(signals), str(int(compiled))]
            asked += ["--decisions", str(decisions)]
            command = [sys.executable, "-m", "benchmarks.sizing", *asked]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            cost = json.loads(said)
            print(
                f"| {actions} × {signals} | {'yes' if compiled else 'no'} "
                f"| {cost['microseconds_a_decision']:.0f} µs "
                f"| {cost['microseconds_a_report']:.0f} µs "
                f"| {cost['bytes_a_decision']:.0f} | {cost['memory']:.0f} MiB |",
                flush=True,
            )


if __name__ == "__main__":
    main()
