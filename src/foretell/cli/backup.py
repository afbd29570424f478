"""`foretell backup` and `foretell restore`: the whole service as one file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import IO

import click
import msgspec

from foretell.cli.extra import serve_extra
from foretell.cli.place import address, database, existing_database, place_options
from foretell.cli.remote import Remote
from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.files import write_whole
from foretell.live.api import Restored

SQLITE = "application/vnd.sqlite3"


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
        path = existing_database(db)
        with serve_extra():
            from foretell.live.store.copies import back_up
            from foretell.live.store.faults import in_a_sentence
        with in_a_sentence(path):
            back_up(path, str(out))
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
            _confirm(f"Put {copy} in place of {path}?", yes=yes)
        head = _put(copy, path)
    click.echo(f"Restored: the log stands at line {head:,}.")


def _confirm(question: str, *, yes: bool) -> None:
    if not yes:
        click.confirm(question, abort=True)


def _put(copy: Path, path: str) -> int:
    with serve_extra():
        from foretell.live.store.copies import put_in_place, verified
        from foretell.live.store.faults import in_a_sentence
        from foretell.live.store.lock import Lock

    with in_a_sentence(str(copy)):
        found = verified(str(copy))
    if found.damage:
        raise DamagedFile(f"the copy cannot be used: {found.damage[0]}")
    lock = Lock(path)
    try:
        put_in_place(str(copy), path)
    finally:
        lock.release()
    return found.lines


def _fetch(remote: Remote, out: Path) -> None:
    with remote.opened("GET", "/v1/backup") as answer:
        length = int(answer.headers["Content-Length"])

        def write(file: IO[bytes]) -> None:
            shutil.copyfileobj(answer, file)
            if file.tell() != length:
                raise ForetellError(
                    f"{file.tell():,} of {length:,} bytes came from {remote.url}: try again"
                )

        write_whole(out, write)


def _send(remote: Remote, copy: Path) -> int:
    length = copy.stat().st_size
    with (
        copy.open("rb") as file,
        remote.opened("POST", "/v1/restore", file, SQLITE, length) as answer,
    ):
        return msgspec.json.decode(answer.read(), type=Restored).head
