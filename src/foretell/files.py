"""Writing files whole or not at all, and to disk."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def write_whole(
    path: str | os.PathLike[str],
    write: Callable[[IO[bytes]], Any],
    *,
    private: bool = False,
    durable: bool = True,
) -> None:
    """Let `write` fill a file next to `path`, then rename it to `path`.

    A crash leaves the old file or the new one, never a part; what bears the name is on disk. A
    `private` file can be read by nobody else. Without `durable`, which takes most of the time, a
    power cut may leave a part: for a cache that notices.
    """
    target = Path(path)
    new = target.with_name(f".{secrets.token_hex(8)}")
    rights = 0o600 if private else 0o666
    try:
        with open(new, "x+b", opener=lambda name, flags: os.open(name, flags, rights)) as file:
            write(file)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    if not durable:
        return
    with suppress(PermissionError):  # where folders cannot be opened
        sync(target.absolute().parent)


def open_private(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file to be written from its start, which nobody else can read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def sync(path: str | os.PathLike[str]) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
