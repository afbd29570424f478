"""Durable decisions of the service, compared with handlers on the same stack and a bare fdatasync.

Everything that is compared is measured in turns in one run: the machine is shared, and a disk
that is slow now is slow for both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.live_empty import PAGE
from benchmarks.live_server import (
    TURNS,
    Server,
    create_campaign,
    decide_path,
    load,
    serve,
    serve_yardstick,
    wait_until_idle,
)
from benchmarks.measure import BenchmarkResult

FEW_TURNS = 3
PACE = 100
"""Requests per second at one connection."""


class Contestant(NamedTuple):
    """A handler of a server."""

    server: Server
    path: str

    def job(self, **asked: Any) -> dict[str, Any]:
        """Return a job for the load generator that asks this handler."""
        return {"port": self.server.port, "path": self.path, **asked}


class Busy(NamedTuple):
    """What a handler did under as much load as it takes."""

    rate: float
    cpu: float
    """Seconds of the server's CPU a request, in all its threads."""
    generator: float
    """Seconds of the load generator's CPU a request."""


def live_decide() -> BenchmarkResult:
    """Measure the rate, the CPU and the latencies of decisions."""
    result = BenchmarkResult("Decisions, one worker on loopback, every answer on disk")
    with (
        tempfile.TemporaryDirectory(dir=".") as folder,
        serve_yardstick(folder) as yardstick,
        serve(f"{folder}/bench.db") as server,
        serve(f"{folder}/plain.db", numba=False) as plain,
    ):
        for one in (server, plain):
            create_campaign(one.port, "small", 5, 3)
        empty = Contestant(yardstick, "/empty")
        synced = Contestant(yardstick, "/synced")
        decide = Contestant(server, decide_path("small"))
        without_numba = Contestant(plain, decide_path("small"))
        _most(result, empty, decide)
        _latency(result, empty, decide, folder)
        _under_load(result, empty, synced, {"": decide, " without numba": without_numba})
        _under_attack(result, decide)
        _large(result, server)
    return result


def _most(result: BenchmarkResult, empty: Contestant, decide: Contestant) -> None:
    """Compare what each takes of 32 connections that ask again as soon as they are answered."""
    turns = [(_press(empty), _press(decide)) for _ in range(TURNS)]
    for name, found in zip(("empty", "decide"), zip(*turns, strict=True), strict=True):
        rate, cpu, generator = (statistics.median(values) for values in zip(*found, strict=True))
        result.add(f"{name}, 32 connections", f"{rate:.0f} requests/s", rate)
        result.add(f"{name}, CPU of the server a request", f"{1e6 * cpu:.0f} µs", 1e6 * cpu)
        took = 1e6 * generator
        result.add(f"{name}, CPU of the load generator a request", f"{took:.0f} µs", took)
    rate = statistics.median(ours.rate / bare.rate for bare, ours in turns)
    result.at_least("durable decide against the empty handler, rate", rate, 0.5)
    cpu = statistics.median(bare.cpu / ours.cpu for bare, ours in turns)
    result.at_least("durable decide against the empty handler, CPU", cpu, 0.55)


def _press(contestant: Contestant) -> Busy:
    seconds = 1.5
    before = contestant.server.cpu()
    found = load(contestant.job(kind="closed", connections=32, seconds=seconds))
    requests = found.found * seconds
    cpu = contestant.server.cpu() - before
    return Busy(found.found, cpu / requests, found.cpu / requests)


def _latency(result: BenchmarkResult, empty: Contestant, decide: Contestant, folder: str) -> None:
    """Compare the median latency at one connection with that of a bare fdatasync."""
    asked = {"kind": "open", "connections": 1, "rate": PACE, "seconds": 2.0}
    medians: dict[str, list[float]] = {"fdatasync": [], "empty": [], "decide": []}
    for _ in range(FEW_TURNS):
        medians["fdatasync"].append(statistics.median(_fdatasync(f"{folder}/bare")))
        for name, one in (("empty", empty), ("decide", decide)):
            medians[name].append(statistics.median(load(one.job(**asked)).found))
    for name, found in medians.items():
        p50 = 1000 * statistics.median(found)
        result.add(f"{name}, p50 at 1 connection", f"{p50:.3g} ms", p50)
    more = statistics.median(
        one - bare for one, bare in zip(medians["decide"], medians["fdatasync"], strict=True)
    )
    result.at_most("durable decide over a bare fdatasync, p50", 1000 * more, 1.1, " ms")


def _under_load(
    result: BenchmarkResult,
    empty: Contestant,
    synced: Contestant,
    deciding: dict[str, Contestant],
) -> None:
    """Compare the latencies at 2,000 requests a second with those of a grouped fdatasync."""
    asked = {"kind": "open", "connections": 32, "rate": 2000, "seconds": 2.0}
    named = {"empty": empty, "grouped fdatasync": synced}
    named |= {f"decide{name}": one for name, one in deciding.items()}
    cuts: dict[str, list[list[float]]] = {name: [] for name in named}
    for _ in range(FEW_TURNS):
        for name, one in named.items():
            cuts[name].append(statistics.quantiles(load(one.job(**asked)).found, n=100))
    for name, turns in cuts.items():
        for share in (50, 99):
            taken = 1000 * statistics.median(turn[share - 1] for turn in turns)
            result.add(f"{name}, p{share} at 2,000 requests/s", f"{taken:.3g} ms", taken)
    for name in deciding:
        ratio = statistics.median(
            ours[98] / bare[98]
            for bare, ours in zip(cuts["grouped fdatasync"], cuts[f"decide{name}"], strict=True)
        )
        result.at_most(f"durable decide{name} against a grouped fdatasync, p99", ratio, 3.0)


def _under_attack(result: BenchmarkResult, decide: Contestant) -> None:
    """Compare the rate of decisions with that while strangers send endless requests."""
    job = decide.job(kind="closed", connections=32, seconds=1.5)
    ratios = []
    for _ in range(FEW_TURNS):
        alone = load(job).found
        attackers = [sys.executable, "-m", "benchmarks.live_attack", str(decide.server.port), "3"]
        with subprocess.Popen(attackers, stdout=subprocess.PIPE) as attacking:
            time.sleep(1)
            ratios.append(load(job).found / alone)
            attacking.communicate()
    what = "decisions while 10 connections send endless requests, against none"
    result.at_least(what, statistics.median(ratios), 0.5)


def _large(result: BenchmarkResult, server: Server) -> None:
    """Compare the median latency of a large campaign with that of a small one."""
    create_campaign(server.port, "large", 1000, 10)
    wait_until_idle(server)
    asked = {"kind": "open", "connections": 1, "rate": 50, "seconds": 2.0, "port": server.port}
    more = []
    for _ in range(FEW_TURNS):
        small, large = (
            statistics.median(load({**asked, "path": decide_path(name)}).found)
            for name in ("small", "large")
        )
        more.append(large - small)
    result.at_most(
        "1,000 actions x 10 signals, p50 over 5 x 3", 1000 * statistics.median(more), 5.0, " ms"
    )


def _fdatasync(path: str) -> list[float]:
    """Time an append of a page and its sync, at the pace of the requests: a disk naps as well."""
    taken = []
    with Path(path).open("ab", buffering=0) as file:
        for _ in range(200):
            begun = time.perf_counter()
            file.write(PAGE)
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begun)
            time.sleep(1 / PACE)
    return taken
