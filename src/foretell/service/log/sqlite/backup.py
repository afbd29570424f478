"""A backup: a consistent copy of a database, written while the database is used."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from foretell.errors import ForetellError, InvalidInput
from foretell.files import sync
from foretell.service.log.sqlite.connection import connect


def back_up(path: str, target: str) -> None:
    """Write a consistent copy of a database, complete or not at all."""
    if Path(target).exists():
        raise InvalidInput(f"{target!r} exists already: choose another name for the copy")
    part = f"{target}.part"
    try:
        copy_out(path, part)
        Path(part).rename(target)
        sync(Path(target).absolute().parent)
    except OSError as error:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
        if error.errno == errno.ENOSPC:
            raise ForetellError(
                f"there is no room for the copy {target!r}: free some space"
            ) from None
        raise InvalidInput(f"the copy {target!r} cannot be written: {error.strerror}") from None


def copy_out(path: str, part: str) -> None:
    """Write all that a database holds, its journal included, to a private file."""
    source = connect(path, write=False)
    try:
        Path(part).unlink(missing_ok=True)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        source.pragma("query_only", "off")  # it writes to the copy alone
        source.execute("VACUUM INTO ?", (part,))
        sync(part)
    except BaseException as error:
        with suppress(OSError):
            Path(part).unlink(missing_ok=True)
        if isinstance(error, apsw.FullError):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), part) from None
        raise
    finally:
        source.close()


def read_meta(path: str, name: str) -> Any:
    """Return a value that a database stores next to its log; None where it has none."""
    connection = connect(path, write=False)
    try:
        return connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    finally:
        connection.close()
