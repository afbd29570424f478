"""A real Dask cluster for tests: a scheduler and workers, each in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from foretell.sim.provenance import cache_folder

SECONDS = 120.0


def wait_until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that happens soon, on a busy machine too."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen in {SECONDS:.0f} seconds"
        time.sleep(0.05)


def without_foretell(folder: Path) -> Path:
    """Return a folder that hides foretell from a process that has it on its PYTHONPATH."""
    hiding = folder / "hiding"
    hiding.mkdir()
    (hiding / "foretell.py").write_text("raise ImportError('it is not installed')\n", "utf-8")
    return hiding


class DaskProcesses:
    """The processes of a cluster, by name; the scheduler cannot import foretell."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        file = folder / "scheduler.json"
        without = {"PYTHONPATH": str(without_foretell(folder))}
        self._start("scheduler", ["--port", "0", "--host", "127.0.0.1"], str(file), **without)
        wait_until(lambda: file.is_file() and file.stat().st_size, "the start of a scheduler")
        self.address = str(json.loads(file.read_text("utf-8"))["address"])

    def start_worker(self, name: str, **environment: str) -> None:
        """Start a worker with a home, a cache and a working folder that no other process has.

        Only what is compiled already is lent to it, because compiling again would take long.
        """
        options = ["--nthreads", "1", "--no-nanny", "--name", name, "--host", "127.0.0.1"]
        self._start("worker", [self.address, *options], name=name, **environment)

    def kill(self, name: str) -> None:
        """Kill a process, as a power cut would."""
        self.processes[name].kill()
        self.processes[name].wait()

    def log(self, name: str) -> str:
        """Return what a process has said."""
        return (self._folder / f"{name}.log").read_text("utf-8")

    def end(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()

    def _start(
        self,
        kind: str,
        options: list[str],
        file: str | None = None,
        name: str = "scheduler",
        **environment: str,
    ) -> None:
        own = self._folder / name
        own.mkdir()
        homes = {key: str(own) for key in ("HOME", "XDG_CACHE_HOME", "TMPDIR")}
        (own / "foretell").mkdir()
        compiled = cache_folder("compiled")
        (own / "foretell" / compiled.name).symlink_to(compiled)
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--no-dashboard", *options]
        if file is not None:
            command += ["--scheduler-file", file]
        with (self._folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                command,
                cwd=own,
                env=os.environ | homes | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


@contextmanager
def dask_processes(folder: Path) -> Iterator[DaskProcesses]:
    """Start a scheduler; end it, and the workers started since, at the end."""
    started = DaskProcesses(folder)
    try:
        yield started
    finally:
        started.end()
