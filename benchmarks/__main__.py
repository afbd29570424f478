"""Run the benchmarks: all, or those that are named."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from benchmarks.measure import BenchmarkResult

NAMES = ("startup", "versus_cpp", "versus_cpp_beyond", "versus_libraries", "scaling")
SERVICE = ("live",)
OUT = Path("out/bench.json")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice((*NAMES, *SERVICE)))
@click.option(
    "--out", type=click.Path(path_type=Path), default=OUT, help="Where the numbers go, as JSON."
)
def main(names: tuple[str, ...], out: Path) -> None:
    """Run the NAMES benchmarks (without a name all but live); exit 1 if a target is missed."""
    console = Console()
    results: dict[str, BenchmarkResult] = {}
    for name in names or NAMES:
        with console.status(f"{name} …"):
            results[name] = getattr(importlib.import_module(f"benchmarks.{name}"), name)()
        _show(console, results[name])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({name: asdict(one) for name, one in results.items()}, indent=1))
    missed = [
        f"{name}: {measurement.what} is {measurement.measured}, target {measurement.target}"
        for name, result in results.items()
        for measurement in result.measurements
        if measurement.met is False
    ]
    for sentence in missed:
        console.print(f"[bold red]missed[/] {sentence}", highlight=False)
    console.print(f"The numbers are in {out}.", highlight=False)
    sys.exit(1 if missed else 0)


def _show(console: Console, result: BenchmarkResult) -> None:
    table = Table("what", "measured", "target", "verdict", title=result.title, title_justify="left")
    for measurement in result.measurements:
        style = {True: "green", False: "bold red", None: ""}[measurement.met]
        table.add_row(
            measurement.what,
            measurement.measured,
            measurement.target,
            measurement.verdict,
            style=style,
        )
    console.print(table)
    for note in result.notes:
        console.print(note, highlight=False)


if __name__ == "__main__":
    main()
