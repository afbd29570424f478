"""`foretell reproduce` and `foretell run`: studies and their reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from foretell.studies.study import Study

_RUNS = click.option(
    "--runs", type=click.IntRange(min=2), default=50, show_default=True, help="Runs per policy."
)
_SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
_OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/report"),
    show_default=True,
    help="Folder for the report.",
)
_FRESH = click.option("--fresh", is_flag=True, help="Run everything again, ignoring the cache.")


@click.command()
@click.argument("figures", nargs=-1)
@_RUNS
@_SEED
@_OUT
@_FRESH
def reproduce(
    figures: tuple[str, ...],
    runs: int,
    seed: int,
    out: Path,
    fresh: bool,  # noqa: FBT001  click passes it
) -> None:
    """Reproduce the paper: all figures and claims, or the FIGURES named.

    Writes a report (index.html), every figure as PNG and SVG and every table as CSV. Finished
    runs are kept in a cache, so a second call takes seconds. `long-run`, which takes many minutes,
    runs only where it is named.
    """
    from foretell.studies.paper import chosen_studies

    _run(chosen_studies(figures), out, runs, seed, fresh=fresh, title="The paper, reproduced")


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--runs", type=click.IntRange(min=2), default=None, help="Overrides the file's runs.")
@click.option("--seed", type=click.IntRange(min=0), default=None, help="Overrides the file's seed.")
@_OUT
@_FRESH
def run_study(
    file: Path,
    runs: int | None,
    seed: int | None,
    out: Path,
    fresh: bool,  # noqa: FBT001  click passes it
) -> None:
    """Run your own study from a TOML FILE and write its report."""
    from foretell.studies.own import read_study

    own = read_study(file)
    _run(
        [own.study],
        out,
        own.runs if runs is None else runs,
        own.seed if seed is None else seed,
        fresh=fresh,
        title=own.study.title,
    )


def _run(studies: list[Study], out: Path, runs: int, seed: int, *, fresh: bool, title: str) -> None:
    from foretell.studies.reproduce import run_studies

    finished = run_studies(studies, out, runs=runs, seed=seed, fresh=fresh, title=title)
    for one in finished:
        click.echo(f"{one.study.title} ({one.seconds:.1f} s)")
        for verdict in one.verdicts:
            click.echo(f"  {verdict.word:<13} {verdict.claim.words}")
    click.echo(f"\nReport: {out / 'index.html'}")
