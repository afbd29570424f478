"""One server per database: two locks, on its name and on its file, that end with their process.

The lock on the name holds before there is a file, and while another file takes its place. The lock
on the file holds whatever name it was opened by, and whoever removes the other lock.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Self

import apsw

from foretell.errors import InvalidInput
from foretell.service.log.errors import FULL, SHORT

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows, where the database's own locks must do)
    fcntl = None  # type: ignore[assignment]


PROBE_SECONDS = 0.02
PROBES = 100


class Lock:
    """A lock on the name of a database, held by the one process that writes it."""

    def __init__(self, path: str) -> None:
        """Take the lock, or refuse if another process has it."""
        if path == ":memory:" or "\0" in path:
            raise InvalidInput(f"a database is a file, got {path!r}: choose another name")
        if Path(path).is_dir():
            raise InvalidInput(f"{path!r} is a folder: name a file in it")
        self._name = f"{path}.lock"
        self._new = not Path(self._name).exists()
        self._file = _open_locked(path, self._name)
        while not _is_file_of(
            self._name, self._file
        ):  # its last owner has removed the file meanwhile
            os.close(self._file)
            self._file = _open_locked(path, self._name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.release()
        else:
            self.undo()

    def release(self) -> None:
        """Release the lock."""
        os.close(self._file)

    def undo(self) -> None:
        """Release the lock, and leave no file where there was none."""
        if self._new:
            with suppress(OSError):
                Path(self._name).unlink()
        self.release()


def _open_locked(path: str, name: str) -> int:
    try:
        file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        if error.errno in FULL | SHORT:
            raise
        raise InvalidInput(
            f"cannot open the database {path!r} ({error.strerror}): "
            f"its folder must exist and be writable"
        ) from None
    if fcntl is None:
        return file
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise _in_use(path) from None
    return file


def _in_use(path: str) -> InvalidInput:
    return InvalidInput(
        f"another process writes to the database {path!r}: stop it, or name another database; "
        f"foretell keys, backup and restore can also ask a running service, with --url"
    )


class FileLock:
    """A lock on the file of a database, whatever name it was opened by.

    It is the lock by which SQLite reserves a file for one that is about to write. In WAL mode
    nobody else takes it, and readers do not feel it. It is taken through SQLite, which knows all
    locks of this process on a file: closing a descriptor of the file in any other way would drop
    all of them.
    """

    def __init__(self, path: str) -> None:
        """Take the lock, or refuse if another process has it under any name."""
        flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0]
        self._file: apsw.VFSFile | None = apsw.VFSFile("", str(Path(path).absolute()), flags)
        try:
            _share(self._file)
            self._file.xLock(apsw.SQLITE_LOCK_RESERVED)
        except BaseException as error:
            self.release()
            if isinstance(error, apsw.BusyError):
                raise _in_use(path) from None
            raise

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._file is not None:
            self._file.xUnlock(apsw.SQLITE_LOCK_NONE)
            self._file.xClose()
            self._file = None


def refuse_used_file(path: str) -> None:
    """Refuse a database that another process writes, under whatever name."""
    if not Path(path).exists():
        return
    with suppress(apsw.Error):  # what else is wrong with the file is said when it is opened
        FileLock(path).release()


def _share(file: apsw.VFSFile) -> None:
    """Take the lock of a reader; one that closes the database excludes all others for a moment."""
    for probe in range(PROBES):
        try:
            file.xLock(apsw.SQLITE_LOCK_SHARED)
        except apsw.BusyError:
            if probe == PROBES - 1:
                raise
            sleep(PROBE_SECONDS)
        else:
            return


def _is_file_of(name: str, file: int) -> bool:
    try:
        return os.path.samestat(Path(name).stat(), os.fstat(file))
    except FileNotFoundError:
        return False
