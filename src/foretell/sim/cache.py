"""Caches on disk: what was compiled, and runs that need not be run again.

A cache folder is named by a digest of the sources, so an edit never meets what an older source
left behind.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import platformdirs

from foretell.sim.provenance import source_digest

KEPT_SECONDS = 30 * 24 * 3600
"""A cache folder that nobody used for so long is dropped."""


def cache_folder(kind: str, extra: tuple[Path, ...] = ()) -> Path:
    """Return the folder of one kind of cache for these sources, and drop those long unused."""
    folder = user_cache() / f"{kind}-{source_digest(extra)}"
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    for other in folder.parent.glob(f"{kind}-*"):
        if other.stat().st_mtime < folder.stat().st_mtime - KEPT_SECONDS:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def user_cache() -> Path:
    """Return the folder of this user's caches: on Linux $XDG_CACHE_HOME/foretell."""
    return platformdirs.user_cache_path("foretell", appauthor=False)
