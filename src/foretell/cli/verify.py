"""`foretell verify`: check that a log is whole, and enough to build every campaign again."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from foretell.cli.output import JSON_OPTION
from foretell.cli.target import db_option, existing_database, serve_extra
from foretell.errors import DamagedFile
from foretell.service.database_address import without_password

if TYPE_CHECKING:
    from foretell.service.engine.verify import Verification

_COMPARISONS = {
    "same": "built from the log alone, it equals its saved state",
    "differs": "built from the log alone, it DIFFERS from its saved state",
    "no state": "built from the log alone; no sound state is saved to compare it with, as is usual "
    "for a new campaign",
    "archived": "its decisions are archived, so it cannot be built again; its saved state is whole",
    "other version": "built from the log alone; its state is of another version of foretell",
}


@click.command()
@db_option
@JSON_OPTION
def verify(db: str | None, as_json: bool) -> None:  # noqa: FBT001  click passes it
    """Check a database, or a copy of one, whole; a server may be using it.

    Every page, record, context and state is checked, and the chain that links the records. Then
    each campaign is built again from the log alone, and compared with its newest saved state.
    Exits with 1 if anything is damaged, and names it.
    """
    path = existing_database(db)
    place = without_password(path)
    with serve_extra():
        from foretell.service.engine.verify import Verification, verify_log
        from foretell.service.log.open import open_reader
    from foretell.progress import progress_bar

    try:
        with open_reader(path) as log:
            steps = 2 * asyncio.run(log.count_records())
            with progress_bar(f"Checking {place}", steps) as advance:
                verification = asyncio.run(verify_log(log, advance))
    except DamagedFile as error:
        verification = Verification(0, 0, [], [str(error)])
    if as_json:
        click.echo(json.dumps({"db": place, **msgspec.to_builtins(verification)}, indent=2))
    else:
        _print_verification(place, verification)
    if verification.damage:
        sys.exit(1)


def _print_verification(place: str, verification: Verification) -> None:
    click.echo(f"{place}: {verification.records:,} records, {verification.states:,} saved states")
    for one in verification.campaigns:
        click.echo(f"  {one.campaign} as of {one.as_of}: {_COMPARISONS[one.comparison]}")
    if not verification.damage:
        click.echo("Nothing is damaged.")
        return
    click.echo(f"Damaged ({len(verification.damage):,}):")
    for sentence in verification.damage:
        click.echo(f"  {sentence}")
