"""`foretell backup` and `foretell restore`: the whole service as one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from foretell.cli.target import (
    admin_client,
    database,
    existing_database,
    serve_extra,
    target_options,
    target_url,
)
from foretell.errors import InvalidInput
from foretell.files import open_private, sync
from foretell.service.database_address import is_address, without_password


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@target_options
def backup(out: Path, url: str | None, key: str | None, db: str | None) -> None:
    """Write a consistent copy of a database to the new file OUT.

    A server may be using the database; with --url and --key the copy comes over the network.
    """
    if out.exists():
        raise InvalidInput(f"{str(out)!r} exists already: choose another name for the copy")
    if not out.absolute().parent.is_dir():
        raise InvalidInput(f"there is no folder {str(out.parent)!r}: make it first")
    address = target_url(url, db)
    if address:
        with admin_client(address, key) as service:
            _write_whole(out, service.backup)
    else:
        _copy(existing_database(db), str(out))
    click.echo(f"{out} is a copy; foretell verify --db {out} checks it.")


@click.command()
@click.argument("copy", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
@target_options
def restore(copy: Path, yes: bool, url: str | None, key: str | None, db: str | None) -> None:  # noqa: FBT001  click passes it
    """Put a COPY in place of a database, once it is checked.

    With --db the server must be stopped; with --url and --key it goes on from the copy while
    running. The old database is kept next to it, with a name that ends in .before-restore; what a
    log in PostgreSQL held is not kept. The keys that are valid afterwards are those of the copy.
    """
    address = target_url(url, db)
    if address:
        with admin_client(address, key) as service:
            _confirm(f"Put {copy} in place of the database of {address}?", yes=yes)
            with _with_its_journal(copy) as whole, whole.open("rb") as file:
                service.restore(file)
    else:
        path = database(db)
        if is_address(path):
            place = without_password(path)
            _confirm(f"Put {copy} in place of {place}, of which nothing is kept?", yes=yes)
        elif Path(path).exists():
            if copy.samefile(path):
                raise InvalidInput(f"{str(copy)!r} is the database itself: name a copy of it")
            _confirm(f"Put {copy} in place of {path}?", yes=yes)
        _replace(copy, path)
    click.echo(f"Restored from {copy}.")


def _confirm(question: str, *, yes: bool) -> None:
    """Go on if the question is answered with yes; else say that nothing has changed, and stop."""
    try:
        agreed = yes or click.confirm(question)
    except click.Abort:
        click.echo(err=True)  # the cursor is behind the question
        agreed = False
    if not agreed:
        click.echo("Nothing was restored.", err=True)
        sys.exit(130)


def _copy(path: str, target: str) -> None:
    with serve_extra():
        from foretell.service.log.open import back_up_log
    back_up_log(path, target)


def _replace(copy: Path, path: str) -> None:
    """Put a copy in place of a database that nobody uses."""
    with serve_extra():
        from foretell.service.log.open import restore_log
    restore_log(str(copy), path)


@contextmanager
def _with_its_journal(copy: Path) -> Iterator[Path]:
    """Yield a copy as one file: some of its records may be in the journal next to it."""
    journal = Path(f"{copy}-wal")
    if not journal.exists() or journal.stat().st_size == 0:
        yield copy
        return
    whole = Path(f"{copy}.whole")
    whole.unlink(missing_ok=True)  # a kill may have left it
    try:
        _copy(str(copy), str(whole))
        yield whole
    finally:
        whole.unlink(missing_ok=True)


def _write_whole(out: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a private file next to OUT, and give it that name when it is on disk.

    What a kill leaves has always the same name, and the next backup to OUT takes its place.
    """
    part = Path(f"{out}.part")
    try:
        with open_private(part) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(out)
        sync(out.absolute().parent)
    except OSError as error:
        raise InvalidInput(f"the copy {str(out)!r} cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
