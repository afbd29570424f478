"""Which source a result was made by: a digest for caches and provenance."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
KEPT_SECONDS = 30 * 24 * 3600
"""A cache folder that nobody used for so long is dropped."""

_PARTS = ("kernel.py", "types.py", "policies", "worlds", "sim")


def source_digest(extra: tuple[Path, ...] = ()) -> str:
    """Digest every source that can be part of a run, and `extra` ones (a user's own policy).

    Ours is read once; a user's own file may be edited and loaded again, so it is read each time.
    """
    digest = hashlib.sha256(_our_digest().encode())
    for source in extra:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def _our_digest() -> str:
    sources = [_PACKAGE / part for part in _PARTS if part.endswith(".py")]
    for part in _PARTS:
        sources += sorted((_PACKAGE / part).rglob("*.py"))
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()


def cache_folder(kind: str, extra: tuple[Path, ...] = ()) -> Path:
    """Give the folder of one kind of cache for these sources, and drop those long unused."""
    folder = user_cache() / f"{kind}-{source_digest(extra)}"
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    for other in folder.parent.glob(f"{kind}-*"):
        if other.stat().st_mtime < folder.stat().st_mtime - KEPT_SECONDS:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def user_cache() -> Path:
    """Give the folder for this user's caches."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "") or str(Path.home() / ".cache")
    return Path(base) / "foretell"
