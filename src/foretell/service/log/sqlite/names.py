"""The names of an open database and of its journal, and what happens when they are taken away.

A file that is open can be written after its name is gone: all that is written then is lost when it
is closed. So the names are looked at before an answer is given, and what lost its name is copied.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import NamedTuple

import apsw

from foretell.errors import DamagedFile, InvalidInput
from foretell.files import sync
from foretell.service.log.errors import LogClosed

logger = logging.getLogger("foretell.service")

DESCRIPTORS = Path("/proc/self/fd")
"""Where the system says under which name each open file is now."""
File = tuple[int, int]
"""The device and the inode of a file; (0, 0) for none."""
NO_FILE: File = (0, 0)
RESCUED = ".rescued"
"""What the name of a copy has after that of the database that was deleted."""
OLD_JOURNAL = ".old-wal"
"""What the name of its journal has after that of the copy, which holds all that is in it."""


def file_of(path: str | Path) -> File:
    """Return which file bears a name now."""
    try:
        found = os.stat(path)  # noqa: PTH116  (for every commit, and this is the fastest)
    except (FileNotFoundError, NotADirectoryError):
        return NO_FILE
    return found.st_dev, found.st_ino


class Names:
    """The names under which a database was opened, with the files that bore them then."""

    def __init__(self, path: str) -> None:
        """Take down which files bear the names of a database that was just opened."""
        self.path = str(Path(path).absolute())
        self.database = file_of(self.path)
        self.journal = file_of(f"{self.path}-wal")
        self.note_size()

    def note_size(self) -> None:
        """Take down how large the database is: only a checkpoint of ours changes that."""
        self._size = Path(self.path).stat().st_size

    def check_size(self) -> None:
        """Raise `LogClosed` when somebody has written into the database, as `cp` onto it does.

        It must be asked by whoever makes the checkpoints, and `check_database` is in it.
        """
        self.check_database()
        if Path(self.path).stat().st_size != self._size:
            raise LogClosed(
                f"the database {self.path!r} was overwritten while it was used: stop the server, "
                f"and restore a backup with foretell restore"
            )

    def check_database(self) -> None:
        """Raise `LogClosed` when the database was deleted, moved or replaced."""
        if file_of(self.path) != self.database:
            raise LogClosed(
                f"the database {self.path!r} was deleted, moved or replaced while it was used: "
                f"put it back, or stop the server"
            )

    def check(self) -> None:
        """Raise `LogClosed` when the database or its journal lost its name."""
        self.check_database()
        if self.journal_is_gone():
            raise LogClosed(f"the journal of the database {self.path!r} was deleted or moved")

    def journal_is_gone(self) -> bool:
        """Whether the name of the journal leads to no file, or to another."""
        return file_of(f"{self.path}-wal") != self.journal

    def save_nameless(self, writer: apsw.Connection) -> str | None:
        """Save what only this process can still read; return a sentence on where it is.

        None if the database is in its place. What is in the journal is moved to a database that
        has a name, whichever: under another name nobody would look for the journal.
        """
        in_place = file_of(self.path) == self.database
        if in_place and not self.journal_is_gone():
            return None
        if writer.in_transaction:
            writer.execute("ROLLBACK")
        found = None if in_place else _find(self.database)
        if in_place or (found is not None and found.names > 0):
            writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            logger.warning("what was in the journal is in the database: nothing is lost")
        if in_place:
            return None
        if found is not None and found.names > 0:
            return (
                f"the database {self.path!r} is now {found.name!r}, and whole: move it back, "
                f"or stop the server and start it there"
            )
        copy = _copy_aside(writer, self.path)
        self._move_journal(copy)
        return (
            f"the database {self.path!r} was deleted while it was used, and all that was in it is "
            f"now in {copy!r}: stop the server, give the copy the name of the database, and start"
        )

    def _move_journal(self, copy: str) -> None:
        """Take the journal of a deleted database away: another database must not read it."""
        if not self.journal_is_gone():
            Path(f"{self.path}-wal").rename(f"{copy}{OLD_JOURNAL}")
            Path(f"{self.path}-shm").unlink(missing_ok=True)


class _Found(NamedTuple):
    name: str
    names: int


def _find(file: File) -> _Found | None:
    """Return under which name an open file is now, and how many it has; None if nobody knows."""
    with suppress(OSError):
        for descriptor in DESCRIPTORS.iterdir():
            with suppress(OSError):
                found = descriptor.stat()
                if (found.st_dev, found.st_ino) == file:
                    return _Found(str(descriptor.readlink()), found.st_nlink)
    return None


def _copy_aside(writer: apsw.Connection, path: str) -> str:
    """Write all that an open database holds to a private file next to where it was."""
    number, copy = 1, f"{path}{RESCUED}"
    while Path(copy).exists():
        number += 1
        copy = f"{path}{RESCUED}-{number}"
    part = f"{path}.part"
    Path(part).unlink(missing_ok=True)
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    writer.execute("VACUUM INTO ?", (part,))
    sync(part)
    Path(part).rename(copy)
    sync(Path(copy).parent)
    return copy


def refuse_start_without(path: str) -> None:
    """Refuse to begin anew where a database was: its journal or a copy of it is still there.

    SQLite would remove the journal, and nobody would look for the copy.
    """
    if Path(path).exists() and Path(path).stat().st_size > 0:
        return
    journal = Path(f"{path}-wal")
    if journal.exists() and journal.stat().st_size > 0:
        raise DamagedFile(
            f"the journal {str(journal)!r} is there without its database: put {path!r} back, "
            f"or move the journal away to begin without it"
        )
    left = list(Path(path).absolute().parent.glob(f"{escape(Path(path).name)}{RESCUED}*"))
    copies = [copy for copy in left if not copy.name.endswith(("-wal", "-shm"))]
    if left:
        newest = max(copies or left, key=lambda copy: copy.stat().st_mtime_ns)
        way = "give that file the name of the database" if copies else "put the database back"
        raise DamagedFile(
            f"there is no database {path!r}, and what was saved when it was deleted is in "
            f"{str(newest)!r}: {way}, or move all that begins with {path + RESCUED!r} away "
            f"to begin without it"
        )


def refuse_second_name(path: str) -> None:
    """Refuse a file with two names: under each there would be a server, and a journal."""
    names = Path(path).stat().st_nlink if Path(path).exists() else 1
    if names > 1:
        raise InvalidInput(
            f"the file {path!r} has {names} names (hard links), and may be used under one only: "
            f"remove the others, or take a backup"
        )
