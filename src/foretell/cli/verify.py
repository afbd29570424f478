"""`foretell verify`: check that a log is whole, and enough to build every campaign again."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from foretell.cli.target import db_option, existing_database, serve_extra

if TYPE_CHECKING:
    from foretell.service.engine.verify import Verification

_COMPARISONS = {
    "same": "built from the log alone, it equals its snapshot",
    "differs": "built from the log alone, it DIFFERS from its snapshot",
    "no snapshot": "built from the log alone; there is no sound snapshot to compare it with",
    "other policies": "built from the log alone; its snapshot is of another version of foretell",
}


@click.command()
@db_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify(db: str | None, as_json: bool) -> None:  # noqa: FBT001  click passes it
    """Check a database whole; a server may be using it.

    Every page, record, context and snapshot is checked, and the chain that links the records. Then
    each campaign is built again from the log alone, and compared with its newest snapshot.
    Exits with 1 if anything is damaged, and names it.
    """
    path = existing_database(db)
    with serve_extra():
        from foretell.service.engine.verify import count_steps, verify_database
        from foretell.service.log.sqlite.connection import driver_errors_wrapped
    from foretell.progress import progress_bar

    with (
        driver_errors_wrapped(path),
        progress_bar(f"Checking {path}", count_steps(path)) as advance,
    ):
        verification = verify_database(path, advance)
    if as_json:
        click.echo(json.dumps({"db": path, **msgspec.to_builtins(verification)}, indent=2))
    else:
        _print_verification(path, verification)
    if verification.damage:
        sys.exit(1)


def _print_verification(path: str, verification: Verification) -> None:
    click.echo(f"{path}: {verification.records:,} records, {verification.snapshots:,} snapshots")
    for one in verification.campaigns:
        click.echo(f"  {one.campaign} at record {one.record:,}: {_COMPARISONS[one.comparison]}")
    if not verification.damage:
        click.echo("Nothing is damaged.")
        return
    click.echo(f"Damaged ({len(verification.damage):,}):")
    for sentence in verification.damage:
        click.echo(f"  {sentence}")
