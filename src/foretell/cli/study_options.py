"""Options that `run`, `reproduce` and `leaderboard` share."""

from __future__ import annotations

from pathlib import Path

import click

SEED = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
FRESH = click.option("--fresh", is_flag=True, help="Run everything again, ignoring the cache.")
IMPORTS = click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="FILE|MODULE",
    help="Your own policies and scenarios: a file that ends in .py, or a module.",
)
POLICIES = click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="POLICY",
    help="Another policy that takes part. Without any, all that --import registers do.",
)
CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS|local:N",
    help="Run on the Dask scheduler at ADDRESS, or on N processes of this machine.",
)
OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/report"),
    show_default=True,
    help="Folder for the report.",
)
