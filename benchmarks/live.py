"""The service on loopback with one worker, compared with an empty handler and a bare fdatasync.

Everything that is compared is measured in turns in one run: the machine is shared, and a disk
that is slow now is slow for both.
"""

from __future__ import annotations

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.measure import BenchmarkResult

KEY = "ftk_the-key-of-the-benchmark"
TURNS = 5
PACE = 100
"""Requests per second at one connection."""
EVENTS = 60_000
OPEN_DECISIONS = 1_000_000
STORED_DECISIONS = 20_000

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
_FILL_WITH_FEEDBACK = """
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


def live() -> BenchmarkResult:
    """Measure decisions, feedback, large campaigns, memory and a restart."""
    result = BenchmarkResult("The live service, one worker on loopback, every answer on disk")
    with tempfile.TemporaryDirectory(dir=".") as folder, _empty() as empty:
        with _server(f"{folder}/bench.db") as port:
            _create(port, "small", 5, 3)
            _create(port, "large", 1000, 10)
            _decisions(result, port, empty)
            _latency(result, port, empty, folder)
            _under_load(result, port, empty)
            _under_attack(result, port)
            _large(result, port)
            _feedback(result, port)
        _bytes(result, folder)
        _memory_and_restart(result, folder)
    _reports(result)
    return result


def _decisions(result: BenchmarkResult, port: int, empty: int) -> None:
    asked = {"kind": "closed", "connections": 32, "seconds": 3.0}
    rates: dict[str, list[float]] = {"empty": [], "decide": []}
    for _ in range(TURNS):
        rates["empty"].append(_load({**asked, "port": empty, "path": "/empty"}))
        rates["decide"].append(_load({**asked, "port": port, "path": _decide("small")}))
    ratio = statistics.median(
        one / other for one, other in zip(rates["decide"], rates["empty"], strict=True)
    )
    for name, found in rates.items():
        rate = statistics.median(found)
        result.add(f"{name}, 32 connections", f"{rate:.0f} requests/s", rate)
    result.at_least("durable decide against the empty handler", ratio, 0.4)


def _latency(result: BenchmarkResult, port: int, empty: int, folder: str) -> None:
    asked = {"kind": "open", "connections": 1, "rate": PACE, "seconds": 3.0}
    medians: dict[str, list[float]] = {"fdatasync": [], "empty": [], "decide": []}
    for _ in range(TURNS):
        medians["fdatasync"].append(statistics.median(_fdatasync(f"{folder}/bare")))
        for name, job in (
            ("empty", {"port": empty, "path": "/empty"}),
            ("decide", {"port": port, "path": _decide("small")}),
        ):
            medians[name].append(statistics.median(_load({**asked, **job})))
    for name, found in medians.items():
        p50 = 1000 * statistics.median(found)
        result.add(f"{name}, p50 at 1 connection", f"{p50:.3g} ms", p50)
    more = statistics.median(
        one - bare for one, bare in zip(medians["decide"], medians["fdatasync"], strict=True)
    )
    result.at_most("durable decide over a bare fdatasync, p50", 1000 * more, 1.1, " ms")


def _under_load(result: BenchmarkResult, port: int, empty: int) -> None:
    asked = {"kind": "open", "connections": 32, "rate": 2000, "seconds": 5.0}
    for name, job in (
        ("empty", {"port": empty, "path": "/empty"}),
        ("decide", {"port": port, "path": _decide("small")}),
    ):
        cuts = statistics.quantiles(_load({**asked, **job}), n=100)
        for share in (50, 99):
            taken = 1000 * cuts[share - 1]
            result.add(f"{name}, p{share} at 2,000 requests/s", f"{taken:.3g} ms", taken)


def _under_attack(result: BenchmarkResult, port: int) -> None:
    """Compare the rate of decisions with that while strangers send endless requests."""
    job = {"kind": "closed", "connections": 32, "seconds": 3.0, "port": port}
    job["path"] = _decide("small")
    ratios = []
    for _ in range(TURNS):
        alone = _load(job)
        attackers = [sys.executable, "-m", "benchmarks.live_attack", str(port), "5"]
        with subprocess.Popen(attackers, stdout=subprocess.PIPE) as attacking:
            time.sleep(1)
            ratios.append(_load(job) / alone)
            attacking.communicate()
    what = "decisions while 10 connections send endless requests, against none"
    result.at_least(what, statistics.median(ratios), 0.5)


def _large(result: BenchmarkResult, port: int) -> None:
    asked = {"kind": "open", "connections": 1, "rate": 50, "seconds": 3.0, "port": port}
    more = []
    for _ in range(TURNS):
        small, large = (
            statistics.median(_load({**asked, "path": _decide(name)}))
            for name in ("small", "large")
        )
        more.append(large - small)
    result.at_most(
        "1,000 actions x 10 signals, p50 over 5 x 3", 1000 * statistics.median(more), 5.0, " ms"
    )


def _feedback(result: BenchmarkResult, port: int) -> None:
    ids = _ids(port, EVENTS // 2)
    events: list[dict[str, Any]] = [
        {"decision_id": one, "signal": "s1", "event_id": f"s{n}"} for n, one in enumerate(ids)
    ]
    events += [{"decision_id": one, "value": 1.0, "event_id": f"r{n}"} for n, one in enumerate(ids)]
    bodies = [
        json.dumps({"events": events[start : start + 1000]}) for start in range(0, EVENTS, 1000)
    ]
    job = {"kind": "many", "connections": 4, "port": port, "path": "/v1/events/batch"}
    seconds, answers = _load({**job, "bodies": bodies})
    assert all(one["status"] == "accepted" for answer in answers for one in answer["results"])
    result.at_least("durable feedback in batches of 1,000", EVENTS / seconds, 10_000, " events/s")


def _ids(port: int, count: int) -> list[str]:
    job = {"kind": "many", "connections": 32, "port": port, "path": _decide("small")}
    _, answers = _load({**job, "bodies": ["{}"] * count})
    return [answer["decision_id"] for answer in answers]


def _bytes(result: BenchmarkResult, folder: str) -> None:
    path = f"{folder}/stored.db"
    command = [sys.executable, "-c", _FILL_WITH_FEEDBACK, path, str(STORED_DECISIONS), KEY]
    subprocess.run(command, check=True)
    stored = Path(path).stat().st_size / STORED_DECISIONS
    result.at_most("bytes a decision with its signal and reward", stored, 343, " bytes")


def _memory_and_restart(result: BenchmarkResult, folder: str) -> None:
    path = f"{folder}/open.db"
    output = subprocess.run(
        [sys.executable, "-c", _FILL, path, str(OPEN_DECISIONS), KEY],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    resident = json.loads(output)
    grown = (resident[-1] - resident[0]) / 2**20
    result.at_most("memory from 100,000 to 1,000,000 decisions, all open", grown, 64, " MiB")
    port = _free_port()
    command = [sys.executable, "-m", "foretell", "serve", "--db", path, "--port", str(port)]
    with _running(command, f"http://127.0.0.1:{port}/readyz", dict(os.environ)) as process:
        ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        spent = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    result.at_most("restart with 1,000,000 records, CPU until ready", spent, 3.0, " s")


def _reports(result: BenchmarkResult) -> None:
    """Every report of a campaign with 1,000,000 decisions, 50 actions and 20 signals."""
    called = [sys.executable, "-m", "benchmarks.live_reports"]
    found = json.loads(subprocess.run(called, check=True, capture_output=True).stdout)
    for name, (spent, held) in found.items():
        result.at_most(f"{name} of 1,000,000 decisions, CPU", spent, 200, " ms")
        result.at_most(f"{name}, longest turn of the event loop", held, 2, " ms")


def _fdatasync(path: str) -> list[float]:
    """Time an append of a page and its sync, at the pace of the requests: a disk naps as well."""
    taken = []
    with Path(path).open("ab", buffering=0) as file:
        for _ in range(200):
            begun = time.perf_counter()
            file.write(b"x" * 4096)
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - begun)
            time.sleep(1 / PACE)
    return taken


def _load(job: dict[str, Any]) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.live_load"],
        input=json.dumps({"key": KEY, **job}),
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def _decide(name: str) -> str:
    return f"/v1/campaigns/{name}/decisions"


def _create(port: int, name: str, actions: int, signals: int) -> None:
    campaign = {
        "name": name,
        "actions": [f"a{number}" for number in range(actions)],
        "signals": ["none", *(f"s{number}" for number in range(1, signals))],
    }
    job = {"kind": "many", "connections": 1, "port": port, "path": "/v1/campaigns"}
    _load({**job, "bodies": [json.dumps(campaign)]})
    time.sleep(8 if actions > 100 else 0)  # a large one is compiled in the background


@contextmanager
def _server(path: str) -> Iterator[int]:
    port = _free_port()
    command = [sys.executable, "-m", "foretell", "serve", "--db", path, "--port", str(port)]
    environment = {**os.environ, "FORETELL_ADMIN_KEY": KEY}
    with _running(command, f"http://127.0.0.1:{port}/readyz", environment):
        yield port


@contextmanager
def _empty() -> Iterator[int]:
    port = _free_port()
    command = [sys.executable, "-m", "benchmarks.live_empty", str(port)]
    with _running(command, f"http://127.0.0.1:{port}/", dict(os.environ)):
        yield port


@contextmanager
def _running(
    command: list[str], url: str, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=environment)
        try:
            _wait(url, process)
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        assert process.poll() is None, "the server stopped"
        try:
            urllib.request.urlopen(url, timeout=1).close()  # noqa: S310  (our own server)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(url)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
