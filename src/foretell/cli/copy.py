"""`foretell copy`: a log moves between a database file and PostgreSQL."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from foretell.cli.target import existing_database, serve_extra
from foretell.errors import InvalidInput
from foretell.service.database_address import is_address, without_password


@click.command()
@click.argument("source")
@click.argument("target")
def copy(source: str, target: str) -> None:
    """Move the log of SOURCE to the empty database TARGET, and seal SOURCE.

    Each is a file or an address of PostgreSQL. All moves: records, keys, secrets, states; the ids
    of decisions stay valid. If it is stopped, run it again: it goes on where it was. While a server
    writes SOURCE, what there is gets copied; stop the server and run it again for the rest. At the
    end the digests of both are compared. SOURCE can still be read, and says where it went to
    whoever would serve it.
    """
    if not is_address(source) and not is_address(target) and _same_file(source, target):
        raise InvalidInput(f"{source!r} is both source and target: name another target")
    existing_database(source, "check the name of the source")
    with serve_extra():
        from foretell.service.log.open import copy_log, open_reader
    from foretell.progress import progress_bar

    with open_reader(source) as log:
        steps = 3 * asyncio.run(log.count_records())
    here, there = without_password(source), without_password(target)
    with progress_bar(f"Copying {here}", steps) as advance:
        moved = copy_log(source, target, advance)
    for table, digest in moved.digests.items():
        click.echo(f"  {table:9} {digest}  equal in both")
    click.echo(f"{moved.records:,} records have moved to {there}; {here} is sealed.")


def _same_file(source: str, target: str) -> bool:
    return Path(source).exists() and Path(target).exists() and Path(source).samefile(target)
