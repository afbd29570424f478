"""What a cluster costs: the CPU of all its processes over that of the cells themselves.

A scheduler and two workers run on this machine, each as a process of its own, and are warm: every
worker has compiled the policy. The same cells are also run in this process, in turns with the
cluster, and nothing is kept of them: that is the cells' own time. What the cluster spends beyond
it is cutting, sending, scheduling, collecting and keeping.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

import foretell as ft
from benchmarks.measure import BenchmarkResult, cpu_seconds
from foretell.policies import policy
from foretell.studies.cells import Cell, CellStore
from foretell.studies.cluster_connection import QUIET_SETTINGS
from foretell.studies.runner import sweep_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

CELLS, RUNS, TURNS, WORKERS = 10_000, 5, 5, 2
WARM = 500
"""Cells that are run before, so that every worker has compiled the policy."""
TARGET = 20.0
_DASK = [sys.executable, "-m"]


def sweep() -> BenchmarkResult:
    """Compare 10,000 cells of some 5 ms on a cluster with the same in one process."""
    result = BenchmarkResult("A sweep on a cluster: CPU over the cells' own")
    scenario = ft.scenario("paper", delay=500)
    spec = policy("nsd-ucrl2(window=800)")
    cells = [Cell(spec, scenario, 8000, RUNS, seed, (499, 7999)) for seed in range(CELLS + WARM)]
    own = cluster = 0.0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = CellStore(folder / "cells")
        address, processes = stack.enter_context(_cluster(folder))
        sweep_cells(cells[CELLS:], store, address, progress=False)
        _run_here(cells[CELLS:])
        share = CELLS // TURNS
        for turn in range(TURNS):
            part = cells[turn * share : (turn + 1) * share]
            before = _cpu_of(processes)
            here = cpu_seconds(partial(sweep_cells, part, store, address, progress=False))
            cluster += here + _cpu_of(processes) - before
            own += cpu_seconds(partial(_run_here, part))
        kept = sum(store.has(cell) for cell in cells[:CELLS])
    result.must("cells that are kept", f"{kept:,}", f"{CELLS:,}", met=kept == CELLS)
    result.add("a cell by itself", f"{1e3 * own / CELLS:.2f} ms", own / CELLS)
    result.at_most("CPU over the cells' own", 100.0 * (cluster / own - 1.0), TARGET, " %")
    return result


def _run_here(cells: list[Cell]) -> None:
    for one in cells:
        ft.simulate(
            one.scenario,
            one.spec,
            one.horizon,
            one.runs,
            one.seed,
            threads=1,
            checkpoints=one.checkpoints,
            progress=False,
        )


def _cpu_of(processes: list[psutil.Process]) -> float:
    """Return the CPU seconds that processes have spent so far."""
    times = [process.cpu_times() for process in processes]
    return sum(one.user + one.system for one in times)


@contextmanager
def _cluster(folder: Path) -> Iterator[tuple[str, list[psutil.Process]]]:
    """Start a scheduler and workers; yield the address and the processes."""
    file = folder / "scheduler.json"
    commands = [
        ["distributed.cli.dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard"],
        *[["distributed.cli.dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard"]]
        * WORKERS,
    ]
    started = [
        subprocess.Popen(
            [*_DASK, *command, "--scheduler-file", str(file)],
            cwd=folder,
            env=os.environ | QUIET_SETTINGS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]
    try:
        yield _address(file), [psutil.Process(one.pid) for one in started]
    finally:
        for one in started:
            one.kill()
        for one in started:
            one.wait()


def _address(file: Path) -> str:
    """Wait for the scheduler, and return its address."""
    while True:
        try:
            return str(json.loads(file.read_text("utf-8"))["address"])
        except (FileNotFoundError, ValueError):
            time.sleep(0.1)
