"""`foretell policies` and `foretell scenarios`."""

from __future__ import annotations

import click

from foretell.cli.output import print_table
from foretell.policies import policies
from foretell.worlds import scenarios


@click.command("policies")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_policies(as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the policies."""
    rows = [
        (entry.name, "lab only" if entry.lab_only else "", entry.summary)
        for entry in policies().values()
    ]
    print_table("Policies", ("policy", "where", "what it does"), rows, as_json=as_json)


@click.command("scenarios")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_scenarios(as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the named scenarios."""
    rows = list(scenarios().items())
    print_table("Scenarios", ("scenario", "what it is"), rows, as_json=as_json)
