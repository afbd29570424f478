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
    from benchmarks.measure import Outcome

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
    outcomes: dict[str, Outcome] = {}
    for name in names or NAMES:
        with console.status(f"{name} …"):
            outcomes[name] = getattr(importlib.import_module(f"benchmarks.{name}"), name)()
        _show(console, outcomes[name])
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({name: asdict(one) for name, one in outcomes.items()}, indent=1))
    missed = [
        f"{name}: {line.what} is {line.measured}, target {line.target}"
        for name, outcome in outcomes.items()
        for line in outcome.lines
        if line.met is False
    ]
    for line in missed:
        console.print(f"[bold red]missed[/] {line}", highlight=False)
    console.print(f"The numbers are in {out}.", highlight=False)
    sys.exit(1 if missed else 0)


def _show(console: Console, outcome: Outcome) -> None:
    table = Table(
        "what", "measured", "target", "verdict", title=outcome.title, title_justify="left"
    )
    for line in outcome.lines:
        style = {True: "green", False: "bold red", None: ""}[line.met]
        table.add_row(line.what, line.measured, line.target, line.verdict, style=style)
    console.print(table)
    for note in outcome.notes:
        console.print(note, highlight=False)


if __name__ == "__main__":
    main()
