"""Where compiled code is cached on disk.

Its folder is named by a digest of every source that can be part of it, because numba's own cache
does not see edits in other files.
"""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from foretell.kernel import KERNELS
from foretell.sim.provenance import cache_folder

Structure: TypeAlias = tuple[Any, ...]
"""The type of a state, and the structures of what is in it."""


def structure_of(value: Any) -> Structure:
    """Return what the compiled code of a state depends on: the types in it, and no numbers."""
    if isinstance(value, tuple):
        return (type(value), *map(structure_of, value))
    return (
        (type(value), value.dtype, value.ndim) if isinstance(value, np.ndarray) else (type(value),)
    )


@cache
def compiled_folder(structure: Structure) -> Path | None:
    """Return the folder for states of this structure; None where a source cannot be read.

    Each has its own, because processes that compile side by side must not share numba's index.
    """
    extra = set()
    if not _is_ours(structure[0]):
        for part in (structure[0], *(one for one in KERNELS if not _is_ours(one))):
            try:
                source = inspect.getsourcefile(part)
            except (OSError, TypeError):  # typed into a notebook or a console
                source = None
            if source is None or not Path(source).is_file():
                return None
            extra.add(Path(source))
    own = hashlib.sha256(repr(structure).encode()).hexdigest()[:16]
    return cache_folder("compiled", tuple(sorted(extra))) / own


def _is_ours(part: Any) -> bool:
    return str(part.__module__).startswith("foretell.")
