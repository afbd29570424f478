"""`foretell policies`, `foretell scenarios` and `foretell version`: what there is."""

from __future__ import annotations

import importlib.metadata

import click

from foretell.cli.output import print_table
from foretell.policies import policy_table
from foretell.worlds import scenarios


@click.command("policies")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_policies(as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the policies: what each needs to know, what it costs, and when to use it."""
    rows = [
        (row.name, row.summary, row.needs, row.cost, row.use, row.where) for row in policy_table()
    ]
    columns = ("policy", "what it does", "needs", "work per round", "when to use it", "where")
    print_table("Policies", columns, rows, as_json=as_json)


@click.command("scenarios")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_scenarios(as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the named scenarios."""
    rows = list(scenarios().items())
    print_table("Scenarios", ("scenario", "what it is"), rows, as_json=as_json)


@click.command("version")
def version() -> None:
    """Print the version."""
    click.echo(importlib.metadata.version("foretell"))
