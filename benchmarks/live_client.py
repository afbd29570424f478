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
import json, socket, sys, time
import foretell

port, key, turns = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
request = (
    f"POST /v1/campaigns/small/decisions HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n"
    f"Content-Type: application/json\\r\\nAccept: application/json\\r\\n"
    f"Accept-Encoding: identity\\r\\n"
    f"Authorization: Bearer {key}\\r\\nContent-Length: 2\\r\\n\\r\\n{{}}"
).encode()
bare = socket.create_connection(("127.0.0.1", port))
bare.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

def exchange():
    bare.sendall(request)
    assert bare.recv(65536).startswith(b"HTTP/1.1 201 ")

def cpu(call):
    began = time.thread_time()
    for _ in range(100):
        call()
    return (time.thread_time() - began) / 100

with foretell.Client(f"http://127.0.0.1:{port}", key=key, timeout=30) as client:
    cpu(lambda: client.decide("small"))
    print(json.dumps([(cpu(lambda: client.decide("small")), cpu(exchange)) for _ in range(turns)]))
"""
_IMPORT = "import foretell.client, time; print(time.process_time())"


def live_client() -> BenchmarkResult:
    """Measure the CPU of a decision in the client, of its import, and of `foretell --help`."""
    result = BenchmarkResult("The client and the command line: CPU")
    with tempfile.TemporaryDirectory(dir=".") as folder, serve(f"{folder}/bench.db") as server:
        create_campaign(server.port, "small", 5, 3)
        call = (sys.executable, "-c", _DECIDE, str(server.port), KEY, str(2 * TURNS))
        spent, bare = zip(*json.loads(_output(*call)), strict=True)
    each, least = 1e6 * statistics.median(spent), 1e6 * statistics.median(bare)
    result.at_most("decide on a kept connection, CPU of the client", each, 150, " µs")
    result.add("of it, what sending and receiving the same bytes takes", f"{least:.3g} µs", least)
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
