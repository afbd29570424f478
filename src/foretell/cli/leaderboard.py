"""`foretell leaderboard`: every policy on every scenario of the suite."""

from __future__ import annotations

from pathlib import Path

import click


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
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--policy", "policies", multiple=True, help="Another policy that takes part.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/leaderboard"),
    show_default=True,
    help="Folder for the report.",
)
@click.option("--fresh", is_flag=True, help="Run everything again, ignoring the cache.")
def leaderboard(
    quick: bool,  # noqa: FBT001  click passes it
    runs: int | None,
    drawn: int,
    seed: int,
    policies: tuple[str, ...],
    out: Path,
    fresh: bool,  # noqa: FBT001  click passes it
) -> None:
    """Compare every policy on the suite of scenarios and write a report.

    Finished cells are kept in a cache: an interrupted call goes on where it stopped.
    """
    from foretell.studies.leaderboard.board import run_leaderboard

    board = run_leaderboard(
        quick=quick, runs=runs, random=drawn, seed=seed, policies=policies, out=out, fresh=fresh
    )
    click.echo(f"{board.times['seconds_this_time']:.0f} s. Report: {out / 'index.html'}")
