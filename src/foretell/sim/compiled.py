"""The only module that knows the compiler: it hands our plain functions to numba.

Verbs are dispatched at compile time on the type of the state, as `singledispatch` does at run
time; kernels are compiled into their callers. Two options make this as fast as C: no reference
counting (compiled code borrows every array and allocates none; a state keeps its scratch arrays)
and forced inlining (a state is many arrays, and passing them costs more than most kernels do).

Compiled runs are cached on disk in a folder named by a digest of every source that can be part
of them, because numba's own cache does not see edits in other files.
"""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numba.core.config
from numba.core.errors import NumbaError
from numba.extending import overload, register_jitable

from foretell.errors import InvalidInput
from foretell.kernel import KERNELS
from foretell.policies.verbs import COMPILED
from foretell.sim.run import play_rounds
from foretell.sim.source import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

_OPTIONS: Any = {"_nrt": False, "forceinline": True}

_known: set[int] = set()


def compiled_player(state_type: type) -> Callable[..., int]:
    """Give `sim.run.play_rounds` compiled for states of this type."""
    for function in KERNELS:
        if id(function) not in _known:
            _known.add(id(function))
            register_jitable(**_OPTIONS)(function)
    player = _dispatcher(_cache_folder(state_type))

    def play(*arguments: Any) -> int:
        try:
            reached: int = player(*arguments)
        except NumbaError as error:
            raise InvalidInput(_explained(state_type, error)) from error
        return reached

    return play


def _explained(state_type: type, error: NumbaError) -> str:
    """Say why a policy cannot be compiled, in one sentence."""
    text = str(error)
    what = f"the policy of {state_type.__name__} cannot be compiled"
    if "NRT required" in text or "returning of array" in text:
        return f"{what}, because it makes a new array in a verb: keep scratch arrays in its state"
    reason = next((line.strip() for line in text.splitlines()[1:] if line.strip()), text)
    return f"{what} ({reason}): run it with compiled=False, or use loops, math and arrays only"


def _dispatch_verb(verb: Any) -> None:
    @overload(verb, strict=False, jit_options=_OPTIONS)
    def implementation(state: Any, *_: Any) -> Callable[..., Any] | None:
        if not hasattr(state, "instance_class"):
            return None
        chosen: Callable[..., Any] = verb.dispatch(state.instance_class)
        return chosen


for _verb in COMPILED:
    _dispatch_verb(_verb)


@cache
def _dispatcher(folder: Path | None) -> Callable[..., int]:
    """Give numba's dispatcher with its cache in `folder`; None is no cache."""
    if folder is None:
        uncached: Callable[..., int] = numba.njit(nogil=True, **_OPTIONS)(play_rounds)
        return uncached
    config: Any = numba.core.config
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        cached: Callable[..., int] = numba.njit(nogil=True, cache=True, **_OPTIONS)(play_rounds)
    finally:
        config.CACHE_DIR = before
    return cached


@cache
def _cache_folder(state_type: type) -> Path | None:
    """Give the folder for runs of this state; None where its own source cannot be read."""
    if _is_ours(state_type):
        return cache_folder("compiled")
    extra = set()
    for part in (state_type, *(function for function in KERNELS if not _is_ours(function))):
        try:
            source = inspect.getsourcefile(part)  # type: ignore[arg-type]
        except TypeError:
            source = None
        if source is None or not Path(source).is_file():
            return None
        extra.add(Path(source))
    return cache_folder("compiled", tuple(sorted(extra)))


def _is_ours(part: Any) -> bool:
    return str(part.__module__).startswith("foretell.")
