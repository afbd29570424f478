"""What earlier runs of the benchmarks found: a line each, and a plot of what has a target.

The lab and the service have a history of their own.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.measure import BenchmarkResult

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "images"
AGAINST_CPP = ", against C++"
LIVE_LINES = {
    "live_decide: durable decide against the empty handler, rate": "decide, rate",
    "live_decide: durable decide against the empty handler, CPU": "decide, CPU",
    "live_decide: durable decide over a bare fdatasync, p50": "decide, p50",
    "live_decide: durable decide against a grouped fdatasync, p99": "decide, p99",
    "live_feedback: durable feedback in batches of 1,000": "feedback",
    "live_restart: restart with 1,000,000 records, CPU until ready": "restart",
    "live_client: decide on a kept connection, CPU of the client": "client",
}
"""What is plotted of the service, by its name in the history."""


class History(NamedTuple):
    """Where runs are written down, and their plot."""

    file: Path
    plot: Path
    axis: str

    def append(self, results: dict[str, BenchmarkResult], loads: tuple[float, float]) -> None:
        """Add this run to the history."""
        rows = [
            (f"{name}: {row.what}", row)
            for name, result in results.items()
            for row in result.measurements
        ]
        line = {
            "when": datetime.now(UTC).isoformat(timespec="minutes"),
            "commit": _commit(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load": loads,
            "values": {name: row.value for name, row in rows if row.value is not None},
            "scores": {name: row.score for name, row in rows if row.score is not None},
            "missed": [name for name, row in rows if row.met is False],
            "texts": {name: (row.measured, row.target) for name, row in rows if row.target},
            "seconds": {name: result.seconds for name, result in results.items()},
        }
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def read(self) -> list[dict[str, Any]]:
        """Return every run, the earliest first."""
        return [json.loads(line) for line in self.file.read_text(encoding="utf-8").splitlines()]

    def markdown(self) -> str:
        """Return a table of the last run: what has a target, and how near it came to that."""
        run = self.read()[-1]
        values, scores, texts = run["values"], run["scores"], run.get("texts", {})
        known = texts or dict.fromkeys((*scores, *run["missed"]))
        loads = "a load of {} before and {} after".format(*run["load"])
        lines = [
            f"The last run that was kept: commit {run['commit']}, {run['cores']} cores, {loads}.",
            "",
            "| what | measured | target | times better than it | |",
            "|---|---|---|---|---|",
        ]
        for name in known:
            number = f"{values[name]:.3g}" if name in values else ""
            measured, target = texts.get(name, (number, ""))
            target = target.replace("<=", "at most").replace(">=", "at least")
            score = f"{scores[name]:.2f}" if name in scores else ""
            verdict = "missed" if name in run["missed"] else "met"
            lines.append(f"| {name} | {measured} | {target} | {score} | {verdict} |")
        return "\n".join(lines) + "\n"

    def draw(self) -> None:
        """Draw how each line has come along, from run to run."""
        import matplotlib as mpl
        from matplotlib.figure import Figure

        runs = self.read()
        figure = Figure(figsize=(7.0, 3.6), layout="constrained")
        axes = figure.add_subplot()
        (_draw_live if self is LIVE else _draw_lab)(axes, runs)
        axes.axhline(1.0, color="grey", linewidth=0.8)
        axes.set_xticks(range(len(runs)), [run["commit"] for run in runs], rotation=45)
        axes.set_ylabel(self.axis)
        figure.legend(loc="outside right upper", fontsize="small")
        with mpl.rc_context({"svg.hashsalt": "foretell"}):
            figure.savefig(self.plot, metadata={"Date": None})


LAB = History(
    HERE / "history.jsonl", IMAGES / "bench-history.svg", "the whole of simulate, C++ = 1"
)
LIVE = History(
    HERE / "live_history.jsonl", IMAGES / "bench-live-history.svg", "times better than its target"
)


def load() -> float:
    """Return how many processes ran or waited in the last minute, 0 where nobody counts."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def _draw_lab(axes: Axes, runs: list[dict[str, Any]]) -> None:
    """Draw how each policy has compared with its C++ loop."""
    names = sorted({name for run in runs for name in run["values"] if name.endswith(AGAINST_CPP)})
    for name in names:
        label = name.partition(": ")[2].removesuffix(AGAINST_CPP)
        _draw_line(axes, [run["values"].get(name) for run in runs], label)
    axes.set_ylim(0.0, None)


def _draw_live(axes: Axes, runs: list[dict[str, Any]]) -> None:
    """Draw how near each line has come to its target: above 1 it is met."""
    for name, label in LIVE_LINES.items():
        _draw_line(axes, [run["scores"].get(name) for run in runs], label)
    axes.set_ylim(0.0, None)


def _draw_line(axes: Axes, values: list[float | None], label: str) -> None:
    points = [(run, value) for run, value in enumerate(values) if value is not None]
    if points:
        axes.plot(*zip(*points, strict=True), marker="o", label=label)


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607  whichever git there is
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE,
    )
    return done.stdout.strip() or "unknown"
