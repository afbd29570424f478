"""What replays a log: plain Python, or compiled where that pays and numba is installed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from foretell.evaluation.reading import nothing_to_read
from foretell.evaluation.replay import replay_rounds

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
        from foretell.sim.compiled import compiled_replayer
    except ImportError:
        return plain_replayer
    return compiled_replayer


MANY_DECISIONS = 100_000
"""Decisions of a refit from which on it is compiled; fewer are enough where it is on disk."""


def refit_reader(state: Any, decisions: int) -> Reader | None:
    """Return what lets such a state read decisions, compiled; None where that does not pay."""
    if decisions < COMPILED_DECISIONS:
        return None
    try:
        from foretell.sim.compiled import compiled_reader
    except ImportError:
        return None
    reader, nothing = compiled_reader(state), nothing_to_read()
    if decisions < MANY_DECISIONS and not reader.is_on_disk(state, nothing):
        return None
    reader(state, nothing)
    return reader


def loaded_reader(state: Any) -> Reader | None:
    """Return what lets such a state read decisions, compiled, if that is loaded already."""
    compiled: Any = sys.modules.get("foretell.sim.compiled")
    if compiled is None:
        return None
    reader: Any = compiled.compiled_reader(state)
    return reader if reader.ready else None
