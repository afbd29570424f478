"""Long work beside the traffic: it lets other work go on, and says how far it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, TypeVar

LONG_TURN_SECONDS = 0.001
"""After so long other work gets its turn: what is begun by then is ended within 2 ms."""
SHORT_TURN_SECONDS = 0.0005
"""After so long work that takes its time lets others go on."""
Progress = Callable[[int], None]
"""Called with how many records or decisions were read."""


def no_progress(_: int) -> None:
    """Tell nobody."""


LARGE = 2000
"""Actions times signals, or decisions, from which on work on all of them is done in a thread."""
Result = TypeVar("Result")


async def in_thread_if_large(size: int, work: Callable[..., Result], *arguments: Any) -> Result:
    """Call something whose work grows with the size of a campaign, where nobody waits for it."""
    return await asyncio.to_thread(work, *arguments) if size >= LARGE else work(*arguments)


PIECE = 16
"""Items of cheap work between two looks at the time: together they take much less than a turn."""
Item = TypeVar("Item")


def in_pieces(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut cheap work: to look at the time after each item would take as long as the item."""
    return (items[start : start + PIECE] for start in range(0, len(items), PIECE))


class Turns:
    """Lets other work go on now and then, and not more often: else records come faster."""

    def __init__(self) -> None:
        """Begin a turn."""
        self._began = perf_counter()

    async def pause(self) -> None:
        """Let others go on, after a long turn."""
        if perf_counter() - self._began > LONG_TURN_SECONDS:
            await asyncio.sleep(0)
            self._began = perf_counter()

    async def rest(self) -> None:
        """Let others go on for as long as the turn took: requests hardly feel it."""
        took = perf_counter() - self._began
        if took > SHORT_TURN_SECONDS:
            await asyncio.sleep(took)
            self._began = perf_counter()
