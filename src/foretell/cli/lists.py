"""`foretell policies`, `foretell scenarios` and `foretell version`: what there is."""

from __future__ import annotations

import importlib.metadata

import click

from foretell.cli.output import print_table
from foretell.cli.study_options import IMPORTS
from foretell.errors import UnknownName


def _policy_names(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the policies that a shell completes a name to."""
    from foretell.policies import registered_policies

    return [name for name in registered_policies() if name.startswith(begun)]


@click.command("policies")
@click.argument("name", required=False, shell_complete=_policy_names)
@IMPORTS
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_policies(name: str | None, imports: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the policies: what each needs to know, what it costs, and when to use it.

    With a NAME, list what can be set of that policy: fields, defaults, values and what they mean.
    """
    from foretell.imports import import_all
    from foretell.policies import policy_table

    import_all(imports)
    if name is not None:
        _print_fields(name, as_json=as_json)
        return
    rows = [
        (row.name, row.summary, row.needs, row.cost, row.use, row.where) for row in policy_table()
    ]
    columns = ("policy", "what it does", "needs", "work per round", "when to use it", "where")
    print_table("Policies", columns, rows, as_json=as_json)


def _print_fields(name: str, *, as_json: bool) -> None:
    """Print the fields of one policy."""
    from foretell.cli.spec_fields import spec_fields
    from foretell.policies import registered_policies

    known = registered_policies()
    if name not in known:
        raise UnknownName.of("policy", name, known)
    rows = [
        (
            field.name,
            field.kind,
            field.default or "has to be given",
            field.values or "any",
            field.meaning,
        )
        for field in spec_fields(known[name].spec)
    ]
    if not rows and not as_json:
        click.echo(f"{name}: {known[name].summary}. It has no fields.")
        return
    columns = ("field", "type", "default", "values", "meaning")
    print_table(f"{name}: {known[name].summary}", columns, rows, as_json=as_json)


@click.command("scenarios")
@IMPORTS
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def list_scenarios(imports: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the named scenarios."""
    from foretell.imports import import_all
    from foretell.worlds import scenarios

    import_all(imports)
    rows = list(scenarios().items())
    print_table("Scenarios", ("scenario", "what it is"), rows, as_json=as_json)


@click.command("version")
def version() -> None:
    """Print the version."""
    click.echo(importlib.metadata.version("foretell"))
