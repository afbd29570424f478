"""What earlier runs of the benchmarks found: a line each, and a plot of what has a target."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.measure import BenchmarkResult

HISTORY = Path(__file__).with_name("history.jsonl")
PLOT = Path(__file__).parent.parent / "docs" / "images" / "bench-history.svg"
PLOTTED = ", against C++"


def load() -> float:
    """Return how many processes ran or waited in the last minute, 0 where nobody counts."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def append(results: dict[str, BenchmarkResult], loads: tuple[float, float]) -> None:
    """Add this run to the history."""
    line = {
        "when": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": _commit(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load": loads,
        "values": {
            f"{name}: {row.what}": row.value
            for name, result in results.items()
            for row in result.measurements
            if row.value is not None
        },
        "missed": [
            f"{name}: {row.what}"
            for name, result in results.items()
            for row in result.measurements
            if row.met is False
        ],
    }
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def read() -> list[dict[str, Any]]:
    """Return every run, the earliest first."""
    return [json.loads(line) for line in HISTORY.read_text(encoding="utf-8").splitlines()]


def draw() -> None:
    """Draw how each policy has stood against its C++ loop."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    runs = read()
    names = sorted({name for run in runs for name in run["values"] if name.endswith(PLOTTED)})
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for name in names:
        points = [(n, run["values"][name]) for n, run in enumerate(runs) if name in run["values"]]
        label = name.partition(": ")[2].removesuffix(PLOTTED)
        axes.plot(*zip(*points, strict=True), marker="o", label=label)
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set_xticks(range(len(runs)), [run["commit"] for run in runs], rotation=45)
    axes.set_ylabel("the whole of simulate, C++ = 1")
    axes.set_ylim(0.0, None)
    axes.legend(fontsize="small", ncols=2)
    with mpl.rc_context({"svg.hashsalt": "foretell"}):
        figure.savefig(PLOT, metadata={"Date": None})


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607  whichever git there is
        capture_output=True,
        text=True,
        check=False,
        cwd=HISTORY.parent,
    )
    return done.stdout.strip() or "unknown"
