"""Run the benchmarks: all, or those that are named."""

from __future__ import annotations

import importlib
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from benchmarks import history
from benchmarks.yardstick import speed_notes

if TYPE_CHECKING:
    from benchmarks.measure import BenchmarkResult

NAMES = ("startup", "versus_cpp", "versus_libraries", "scaling", "worlds", "sweep")
POLICIES = ("default_policy", "censored")
LIVE = (
    "live_decide",
    "live_sizes",
    "live_feedback",
    "live_client",
    "live_restart",
    "live_reports",
    "live_dashboard",
    "live_postgres",
    "live_deciders",
)
"""The parts of `live`, the benchmark of the service: each a module here, with a function of its
name that returns what it found."""
OUT = Path("out/bench.json")


@click.command()
@click.argument(
    "names", nargs=-1, type=click.Choice((*NAMES, *POLICIES, "live", *LIVE, "feedback_file"))
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=OUT, help="Where the numbers go, as JSON."
)
def main(names: tuple[str, ...], out: Path) -> None:
    """Run the NAMES benchmarks, without a name those of the lab's speed; exit 1 if one misses.

    `live` stands for all of the service. A run without a name, and one of `live`, is added to the
    history.
    """
    console = Console()
    before, begun = history.load(), time.monotonic()
    results: dict[str, BenchmarkResult] = {}
    kept = history.LIVE if "live" in names else None if names else history.LAB
    parts = [part for name in names or NAMES for part in (LIVE if name == "live" else (name,))]
    for name in dict.fromkeys(parts):
        with console.status(f"{name} …"):
            started = time.monotonic()
            results[name] = getattr(importlib.import_module(f"benchmarks.{name}"), name)()
            results[name].seconds = round(time.monotonic() - started, 1)
    loads = (before, history.load())
    _show(console, results)
    console.print(
        f"Load of the machine: {loads[0]} before, {loads[1]} after, "
        f"{(time.monotonic() - begun) / 60:.1f} minutes.",
        highlight=False,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({name: asdict(one) for name, one in results.items()}, indent=1))
    if kept is not None:
        kept.append(results, loads)
        kept.draw()
    console.print(f"The numbers are in {out}.", highlight=False)
    sys.exit(0 if all(result.met for result in results.values()) else 1)


def _show(console: Console, results: dict[str, BenchmarkResult]) -> None:
    table = Table("what", "measured", "target", "verdict")
    for result in results.values():
        table.add_section()
        table.add_row(f"{result.title} ({result.seconds:.0f} s)", style="bold")
        for row in result.measurements:
            style = {True: "green", False: "bold red", None: ""}[row.met]
            table.add_row(row.what, row.measured, row.target, row.verdict, style=style)
    console.print(table)
    notes = [note for result in results.values() for note in result.notes]
    for note in (*notes, *speed_notes(results)):
        console.print(note, highlight=False)


if __name__ == "__main__":
    main()
