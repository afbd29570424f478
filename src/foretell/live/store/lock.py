"""One server for one database: a lock that ends with its process, however that ends."""

from __future__ import annotations

import os

from foretell.errors import InvalidInput

try:
    import fcntl
except ImportError:  # pragma: no cover  (Windows, where the database's own locks must do)
    fcntl = None  # type: ignore[assignment]


class Lock:
    """Held while a database is written."""

    def __init__(self, path: str) -> None:
        """Take the lock, or say who has it."""
        try:
            self._file = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InvalidInput(
                f"cannot open the database {path!r} ({error.strerror}): "
                f"its folder must exist and be writable"
            ) from None
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise InvalidInput(
                f"another process writes to the database {path!r}: stop it, "
                f"or ask it through its address with --url"
            ) from None

    def release(self) -> None:
        """Let others write."""
        os.close(self._file)
