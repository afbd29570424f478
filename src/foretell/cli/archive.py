"""`foretell archive`: old months of a log in PostgreSQL become Parquet files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from foretell.cli.archive_file import write_archive
from foretell.cli.target import database, db_option, serve_extra

if TYPE_CHECKING:
    from foretell.service.log.archives import Archiver, Partition
    from foretell.service.log.protocol import LogReader

DAY = 86_400 * 1_000_000
RECORDS_PER_READ = 2000


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("archive"),
    show_default=True,
    help="The folder for the files; made where there is none.",
)
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(min=0),
    default=90,
    show_default=True,
    metavar="DAYS",
    help="Archive months that ended so many days ago.",
)
@db_option
def archive(out: Path, days: int, db: str | None) -> None:
    """Write old months of a log in PostgreSQL to Parquet files, and detach them from the log.

    A month is archived when all campaigns in it are stopped and their windows are closed. Keys,
    configurations and reports stay; feedback that comes later is stored, answered late, and told
    to no model. The files hold no units and no contexts. Servers may be running.
    """
    place = database(db)
    with serve_extra():
        from foretell.service.log.open import open_archiver, open_reader

    async def work() -> None:
        async with open_archiver(place) as archiver:
            with open_reader(place) as log:
                await _archive_months(log, archiver, out, days)

    asyncio.run(work())


async def _archive_months(log: LogReader, archiver: Archiver, out: Path, days: int) -> None:
    from foretell.service.engine.archiving import detach, why_kept
    from foretell.service.model.events import moment, stamp

    ended = await archiver.partitions(max(0, stamp(moment(log.head()) - days * DAY)))
    months = [month for month in ended if await archiver.campaigns_in(month)]
    if not months:
        click.echo(f"There is no month with decisions that ended {days} days ago or earlier.")
    for month in months:
        kept = await why_kept(log, archiver, month)
        if kept is not None:
            click.echo(f"{month.name} stays: {kept}.")
            continue
        path = out / f"{month.name}.parquet"
        records = await _write(archiver, month, path)
        await detach(log, archiver, month)
        click.echo(
            f"{month.name}: {records:,} records are in {path}. Its table is detached; once the "
            f'file is safe: DROP TABLE foretell."{month.name}"'
        )


async def _write(archiver: Archiver, month: Partition, path: Path) -> int:
    """Write the records of a month to a file; return how many there are."""
    with write_archive(path) as add:
        after = records = 0
        while found := await archiver.records_in(month, after, RECORDS_PER_READ):
            add(found)
            after, records = found[-1].seq, records + len(found)
    return records
