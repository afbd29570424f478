"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], Any]) -> None:
    """Let `write` fill a file beside `path`, then put it in its place.

    A crash leaves the old file or the new one, never a part; what is in place is on disk.
    """
    target = Path(path)
    mask = os.umask(0)
    os.umask(mask)
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".", delete=False) as file:
        try:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(0o666 & ~mask)
        except BaseException:
            Path(file.name).unlink()
            raise
    Path(file.name).replace(target)
