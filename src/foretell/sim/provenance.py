"""Which versions and sources a result was made by: for results and for caches."""

from __future__ import annotations

import hashlib
import platform
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
