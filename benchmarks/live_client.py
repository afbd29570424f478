"""What the SDK and the command line take of the machine of whoever uses them."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.live_server import KEY, TURNS, create_campaign, serve
from benchmarks.measure import BenchmarkResult

_DECIDE = """
import json, sys, time
import foretell

with foretell.Client(sys.argv[1], key=sys.argv[2], timeout=30) as client:
    for _ in range(50):
        client.decide("small")
    spent = []
    for _ in range(int(sys.argv[3])):
        began = time.thread_time()
        for _ in range(100):
            client.decide("small")
        spent.append((time.thread_time() - began) / 100)
print(json.dumps(spent))
"""
_IMPORT = "import foretell.client, time; print(time.process_time())"


def live_client() -> BenchmarkResult:
    """Measure the CPU of a decision in the client, of its import, and of `foretell --help`."""
    result = BenchmarkResult("The client and the command line: CPU")
    with tempfile.TemporaryDirectory(dir=".") as folder, serve(f"{folder}/bench.db") as server:
        create_campaign(server.port, "small", 5, 3)
        url = f"http://127.0.0.1:{server.port}"
        spent = json.loads(_output(sys.executable, "-c", _DECIDE, url, KEY, str(2 * TURNS)))
    each = 1e6 * statistics.median(spent)
    result.at_most("decide on a kept connection, CPU of the client", each, 150, " µs")
    took = [float(_output(sys.executable, "-c", _IMPORT)) for _ in range(TURNS)]
    result.at_most("import foretell.client", statistics.median(took), 0.1, " s")
    help_ = [_cpu_of(sys.executable, "-m", "foretell", "--help") for _ in range(TURNS)]
    result.at_most("foretell --help", statistics.median(help_), 0.15, " s")
    return result


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _cpu_of(*command: str) -> float:
    """Return the CPU seconds of a process, its start included."""
    before = os.times()
    _output(*command)
    after = os.times()
    return sum(after[2:4]) - sum(before[2:4])
