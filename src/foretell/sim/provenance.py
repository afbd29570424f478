"""Where results come from, and where what is compiled is kept: named by the source that made it."""

from __future__ import annotations

import hashlib
import platform
import shutil
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_PARTS = ("kernel.py", "types.py", "policies", "worlds", "sim")


def provenance() -> dict[str, str]:
    """Return the versions and the digest of the sources that make a result now."""
    return dict(_provenance())


@cache
def _provenance() -> dict[str, str]:
    import importlib.metadata

    versions = {"python": platform.python_version(), "source": source_digest()}
    for name in ("foretell", "numpy", "numba"):
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


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
    import platformdirs  # of the lab's extra: a service that compiles nothing needs no cache

    return platformdirs.user_cache_path("foretell", appauthor=False)
