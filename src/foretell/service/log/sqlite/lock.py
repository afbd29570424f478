"""One server per database: a lock that ends with its process, however that ends."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Self

from foretell.errors import InvalidInput

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows, where the database's own locks must do)
    fcntl = None  # type: ignore[assignment]


class Lock:
    """A lock on a database, held by the one process that writes it."""

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
        raise InvalidInput(
            f"another process writes to the database {path!r}: stop it, "
            f"or ask it through its address with --url"
        ) from None
    return file


def _is_file_of(name: str, file: int) -> bool:
    try:
        return os.path.samestat(Path(name).stat(), os.fstat(file))
    except FileNotFoundError:
        return False
