"""`foretell reproduce` and `foretell run`: studies and their reports."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foretell.cli.study_options import CLUSTER, FRESH, IMPORTS, OUT, POLICIES, SEED

if TYPE_CHECKING:
    from foretell.studies.plan import FinishedStudy


@click.command()
@click.argument("figures", nargs=-1)
@click.option(
    "--runs", type=click.IntRange(min=2), default=50, show_default=True, help="Runs per policy."
)
@SEED
@IMPORTS
@POLICIES
@CLUSTER
@OUT
@FRESH
def reproduce(
    figures: tuple[str, ...],
    runs: int,
    seed: int,
    imports: tuple[str, ...],
    policies: tuple[str, ...],
    cluster: str | None,
    out: Path,
    fresh: bool,  # noqa: FBT001  click passes it
) -> None:
    """Reproduce the paper: all figures and claims, or the FIGURES named.

    Writes a report (index.html), every figure as PNG and SVG and every table as CSV. Finished
    runs are kept in a cache, so a second call takes seconds. `long-run`, which takes many minutes,
    runs only where it is named. Policies of your own join those of the paper.
    """
    from foretell.imports import import_all
    from foretell.studies.guests import guest_policies
    from foretell.studies.paper import chosen_studies
    from foretell.studies.reproduce import run_studies

    guests = guest_policies(policies, import_all(imports))
    studies = [study.with_policies(guests) for study in chosen_studies(figures)]
    finished = run_studies(studies, out, runs=runs, seed=seed, fresh=fresh, cluster=cluster)
    _print(finished, out)


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--runs", type=click.IntRange(min=2), default=None, help="Overrides the file's runs.")
@click.option("--seed", type=click.IntRange(min=0), default=None, help="Overrides the file's seed.")
@IMPORTS
@CLUSTER
@OUT
@FRESH
def run_study(
    file: Path,
    runs: int | None,
    seed: int | None,
    imports: tuple[str, ...],
    cluster: str | None,
    out: Path,
    fresh: bool,  # noqa: FBT001  click passes it
) -> None:
    """Run your own study from a TOML FILE and write its report."""
    from foretell.imports import import_all
    from foretell.studies.study import Study

    import_all(imports)
    study = Study.read(file)
    study = dataclasses.replace(
        study,
        runs=study.runs if runs is None else runs,
        seed=study.seed if seed is None else seed,
    )
    _print([study.run(out, cluster=cluster, fresh=fresh)], out)


def _print(finished: list[FinishedStudy], out: Path) -> None:
    for one in finished:
        click.echo(f"{one.study.title} ({one.seconds:.1f} s)")
        for verdict in one.verdicts:
            click.echo(f"  {verdict.word:<13} {verdict.claim.words}")
    click.echo(f"\nReport: {out / 'index.html'}")
