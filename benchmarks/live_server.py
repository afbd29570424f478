"""What every part of the benchmark of the service uses: servers, campaigns, and a load on them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

KEY = "ftk_the-key-of-the-benchmark"
TURNS = 5
"""What is compared takes turns, so often each."""
IDLE_SECONDS, IDLE_CPU = 0.5, 0.1
"""A server is idle that takes less than this part of a core for so long."""


class Server(NamedTuple):
    """A server that runs in a process of its own."""

    port: int
    pid: int

    def cpu(self) -> float:
        """Return the CPU seconds that its process has taken, in all threads."""
        return cpu_of(self.pid)


class Load(NamedTuple):
    """What a load generator found, and what it took itself."""

    found: Any
    cpu: float
    """CPU seconds of the generator, from its first request on."""


def cpu_of(pid: int) -> float:
    """Return the CPU seconds that a process has taken, in all threads."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def load(job: Mapping[str, Any]) -> Load:
    """Run a load generator of `live_load` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.live_load"],
        input=json.dumps({"key": KEY, **job}),
        check=True,
        capture_output=True,
        text=True,
    )
    return Load(*json.loads(done.stdout))


def decide_path(name: str) -> str:
    """Return the path at which a campaign decides."""
    return f"/v1/campaigns/{name}/decisions"


def create_campaign(port: int, name: str, actions: int, signals: int) -> None:
    """Make a campaign with the default policy; a large one is compiled in the background."""
    campaign = {
        "name": name,
        "actions": [f"a{number}" for number in range(actions)],
        "signals": ["none", *(f"s{number}" for number in range(1, signals))],
    }
    job = {"kind": "many", "connections": 1, "port": port, "path": "/v1/campaigns"}
    load({**job, "bodies": [json.dumps(campaign)]})


def wait_until_idle(server: Server) -> None:
    """Wait until a server does nothing any more, so that nothing is compiled meanwhile."""
    before, now = -1.0, server.cpu()
    while now - before > IDLE_CPU * IDLE_SECONDS:
        time.sleep(IDLE_SECONDS)
        before, now = now, server.cpu()


@contextmanager
def serve(path: str, *, numba: bool = True) -> Iterator[Server]:
    """Run `foretell serve` with its defaults, as if numba were not installed if it is not to be."""
    port = free_port()
    command = [sys.executable, "-m", "foretell", "serve", "--db", path, "--port", str(port)]
    environment = {**os.environ, "FORETELL_ADMIN_KEY": KEY}
    with tempfile.TemporaryDirectory() as folder:
        if not numba:  # found before the real one
            Path(folder, "numba.py").write_text("raise ImportError('not in this run')\n")
            environment["PYTHONPATH"] = folder
        with running(command, f"http://127.0.0.1:{port}/readyz", environment) as process:
            yield Server(port, process.pid)


@contextmanager
def serve_yardstick(folder: str) -> Iterator[Server]:
    """Run the handlers of `live_empty`; one of them writes to a file in the folder."""
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.live_empty", str(port), f"{folder}/yardstick"]
    with running(command, f"http://127.0.0.1:{port}/", os.environ) as process:
        yield Server(port, process.pid)


@contextmanager
def running(
    command: list[str], url: str, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until it is not needed any more; begin when it answers at the address."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        try:
            _wait(url, process)
            yield process
        finally:
            process.terminate()
            process.wait(30)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


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
