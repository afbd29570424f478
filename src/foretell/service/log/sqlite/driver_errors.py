"""What the driver of the database says, as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from foretell.errors import DamagedFile, ForetellError
from foretell.service.log.errors import FULL, SHORT, Damaged, LogClosed

PASSING = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.FullError,
    apsw.InterruptError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoMemError,
)
"""What SQLite says of a disk or of a system that may be well again: none of it is damage."""

DAMAGE = (apsw.CorruptError, apsw.NotADBError, apsw.ConstraintError, UnicodeDecodeError)
"""What the driver says of damage: a blob may have become a text."""


class DamagedPages(Damaged):
    """The database itself cannot be read, whatever record was asked for."""

    def __init__(self, error: Exception) -> None:
        """Quote what SQLite has found."""
        DamagedFile.__init__(
            self,
            f"the database is damaged ({error}): run foretell verify, "
            f"and restore the log from a backup",
        )
        self.seq = 0


@contextmanager
def damage_wrapped() -> Iterator[None]:
    """Raise what the driver says of damage as `Damaged`."""
    try:
        yield
    except DAMAGE as error:
        raise DamagedPages(error) from None


@contextmanager
def driver_errors_wrapped(path: str) -> Iterator[None]:
    """Raise an error of the driver as one of ours that names the database.

    `LogClosed` if it may work later: the disk is full or fails, or too many files are open.
    """
    try:
        with damage_wrapped():
            yield
    except (*PASSING, MemoryError) as error:
        raise LogClosed(f"the database {path!r} cannot be used now ({error})") from error
    except OSError as error:
        if error.errno not in FULL | SHORT:
            raise
        raise LogClosed(f"the database {path!r} cannot be used now ({error.strerror})") from error
    except apsw.Error as error:
        raise ForetellError(f"the database {path!r} cannot be used: {error}") from error
