"""`foretell backup` and `foretell restore`: the whole service as one file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import click

from foretell.cli.extra import serve_extra
from foretell.cli.remote import Remote
from foretell.cli.target import address, database, existing_database, place_options
from foretell.errors import ForetellError, InvalidInput
from foretell.files import write_whole
from foretell.protocol import Restored

SQLITE = "application/vnd.sqlite3"
HEADER = b"SQLite format 3\0"
"""How every database begins."""


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@place_options
def backup(out: Path, url: str | None, key: str | None, db: str | None) -> None:
    """Write a consistent copy of a database to the new file OUT.

    A server may be using the database; with --url and --key the copy comes over the network.
    """
    if out.exists():
        raise InvalidInput(f"{str(out)!r} exists already: choose another name for the copy")
    if not out.absolute().parent.is_dir():
        raise InvalidInput(f"there is no folder {str(out.parent)!r}: make it first")
    at = address(url, db)
    if at:
        _fetch(Remote(at, key), out)
    else:
        _copy(existing_database(db), str(out))
    click.echo(f"{out} is a copy; foretell verify --db {out} checks it.")


@click.command()
@click.argument("copy", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
@place_options
def restore(copy: Path, yes: bool, url: str | None, key: str | None, db: str | None) -> None:  # noqa: FBT001  click passes it
    """Put a COPY in place of a database, once it is checked.

    With --db the server must be stopped; with --url and --key it goes on from the copy while
    running. What was there is kept beside it, with a name that ends in .before-restore. The keys
    that are valid afterwards are those of the copy.
    """
    at = address(url, db)
    if at:
        remote = Remote(at, key)
        _confirm(f"Put {copy} in place of the database of {at}?", yes=yes)
        head = _send(remote, copy)
    else:
        path = database(db)
        if Path(path).exists():
            if copy.samefile(path):
                raise InvalidInput(f"{str(copy)!r} is the database itself: name a copy of it")
            _confirm(f"Put {copy} in place of {path}?", yes=yes)
        head = _put(copy, path)
    click.echo(f"Restored: the log stands at record {head:,}.")


def _confirm(question: str, *, yes: bool) -> None:
    if not yes:
        click.confirm(question, abort=True)


def _copy(path: str, target: str) -> None:
    with serve_extra():
        from foretell.service.log.sqlite.backup import back_up
        from foretell.service.log.sqlite.connection import driver_errors_wrapped
    with driver_errors_wrapped(path):
        back_up(path, target)


def _put(copy: Path, path: str) -> int:
    """Put a copy in place of a database that nobody uses; give the line at which it stands."""
    with serve_extra():
        from foretell.service.log.sqlite.campaign_reader import last_seq
        from foretell.service.log.sqlite.connection import driver_errors_wrapped
        from foretell.service.log.sqlite.lock import Lock
        from foretell.service.log.sqlite.restore import (
            check_copy,
            remove_staged,
            replace_database,
            stage_copy,
        )

    with driver_errors_wrapped(str(copy)):
        check_copy(str(copy))
        with Lock(path):
            staged = stage_copy(str(copy), path)
            try:
                replace_database(staged, path)
            finally:
                remove_staged(staged)
            return last_seq(path)


def _fetch(remote: Remote, out: Path) -> None:
    with remote.opened("GET", "/v1/backup") as answer:
        length = answer.headers["Content-Length"]
        begins = answer.read(len(HEADER))
        if answer.headers.get_content_type() != SQLITE or length is None or begins != HEADER:
            raise remote.stranger()

        def write(file: IO[bytes]) -> None:
            file.write(begins)
            shutil.copyfileobj(answer, file)
            if file.tell() != int(length):
                raise ForetellError(
                    f"{file.tell():,} of {int(length):,} bytes came from {remote.url}: try again"
                )

        write_whole(out, write, private=True)


def _send(remote: Remote, copy: Path) -> int:
    with (
        _with_its_journal(copy) as whole,
        whole.open("rb") as file,
        remote.opened("POST", "/v1/restore", file, SQLITE, whole.stat().st_size) as answer,
    ):
        return remote.understood(answer.read(), Restored).head


@contextmanager
def _with_its_journal(copy: Path) -> Iterator[Path]:
    """Return a copy as one file, where lines may be in the journal beside it."""
    journal = Path(f"{copy}-wal")
    if not journal.exists() or journal.stat().st_size == 0:
        yield copy
        return
    with TemporaryDirectory(prefix="foretell-") as folder:
        whole = Path(folder) / "copy.db"
        _copy(str(copy), str(whole))
        yield whole
