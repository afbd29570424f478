"""`foretell leaderboard`: every policy on every scenario of the suite."""

from __future__ import annotations

from pathlib import Path

import click

from foretell.cli.study_options import CLUSTER, FRESH, IMPORTS, POLICIES, SEED


@click.command()
@click.option("--quick", is_flag=True, help="20 runs instead of 100.")
@click.option("--runs", type=click.IntRange(min=4), default=None, help="Runs per cell.")
@click.option(
    "--random",
    "drawn",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Also compare on this many random problems.",
)
@SEED
@IMPORTS
@POLICIES
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="NAME",
    help="Another scenario. Without any, all that --import registers take part.",
)
@CLUSTER
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/leaderboard"),
    show_default=True,
    help="Folder for the report.",
)
@FRESH
def leaderboard(
    quick: bool,  # noqa: FBT001  click passes it
    runs: int | None,
    drawn: int,
    seed: int,
    imports: tuple[str, ...],
    policies: tuple[str, ...],
    scenarios: tuple[str, ...],
    cluster: str | None,
    out: Path,
    fresh: bool,  # noqa: FBT001  click passes it
) -> None:
    """Compare every policy on the suite of scenarios and write a report.

    Policies and scenarios of your own take part where they are imported or named.
    Finished cells are kept in a cache: an interrupted call goes on where it stopped.
    """
    from foretell.imports import import_all
    from foretell.studies.guests import guest_entries, guest_policies
    from foretell.studies.leaderboard import board

    modules = import_all(imports)
    made = board.leaderboard(
        quick=quick,
        runs=runs,
        random=drawn,
        seed=seed,
        policies=guest_policies(policies, modules),
        scenarios=guest_entries(scenarios, modules),
        cluster=cluster,
        out=out,
        fresh=fresh,
    )
    click.echo(f"{made.times['seconds_this_time']:.0f} s. Report: {out / 'index.html'}")
