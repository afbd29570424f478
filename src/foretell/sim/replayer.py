"""What replays a log: plain Python, or compiled where that pays and numba is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretell.evaluation.replay import replay_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

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
