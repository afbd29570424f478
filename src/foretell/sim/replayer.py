"""What replays a log: plain Python, or compiled where that pays and numba is installed."""

from __future__ import annotations

import ctypes
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.evaluation.reading import nothing_to_read
from foretell.evaluation.replay import replay_rounds
from foretell.sim.compile_cache import Structure, structure_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.evaluation.reading import Reader
    from foretell.evaluation.replay import Replayer

COMPILED_DECISIONS = 2000
"""Decisions from which on compiling takes less time than it saves."""


def plain_replayer(_: Any) -> Replayer:
    """Return what replays a state in plain Python."""
    return replay_rounds


def replayer(decisions: int) -> Callable[[Any], Replayer]:
    """Return what makes the replayer of a state, for a log of so many decisions."""
    if decisions < COMPILED_DECISIONS:
        return plain_replayer
    try:
        make: Callable[[Any], Replayer] = import_compiled().compiled_replayer
    except ImportError:
        return plain_replayer
    return make


def import_compiled() -> Any:
    """Import `foretell.sim.compiled` in a thread; ImportError where numba is not installed.

    Its largest library is loaded first, by a call that lets other threads go on: Python itself
    would hold all of them up until it is loaded, for 0.03 to 0.2 s.
    """
    spec = None if "llvmlite" in sys.modules else find_spec("llvmlite")
    for folder in (spec and spec.submodule_search_locations) or ():
        library = Path(folder, "binding", "libllvmlite.so")
        if library.exists():
            load = ctypes.CDLL(None).dlopen
            load.argtypes, load.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_void_p
            load(os.fsencode(library), os.RTLD_NOW)
    return import_module("foretell.sim.compiled")


_loaded: dict[Structure, Reader] = {}
"""What was compiled and called once, so that nobody waits for it any more."""
MANY_DECISIONS = 100_000
"""Decisions of a refit from which on it is compiled; fewer are enough where it is on disk."""


def refit_reader(state: Any, decisions: int) -> Reader | None:
    """Return what lets such a state read decisions, compiled; None where that does not pay."""
    if decisions < COMPILED_DECISIONS:
        return None
    try:
        reader: Any = import_compiled().compiled_reader(state)
    except ImportError:
        return None
    nothing = nothing_to_read()
    if decisions < MANY_DECISIONS and not reader.is_on_disk(state, nothing):
        return None
    reader(state, nothing)
    found = _loaded[structure_of(state)] = reader
    return found


def loaded_reader(state: Any) -> Reader | None:
    """Return what lets such a state read decisions, compiled, if that is loaded already."""
    return _loaded.get(structure_of(state)) if _loaded else None
