"""Long work beside the traffic: it lets other work go on, and says how far it has come."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

LONG_TURN_SECONDS = 0.002
"""After so long other work gets its turn."""
Progress = Callable[[int], None]
"""Called with how many records or decisions were read."""


def no_progress(_: int) -> None:
    """Tell nobody."""


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
        """Let others go on, after a long turn for as long as it took: requests hardly feel it."""
        took = perf_counter() - self._began
        if took > LONG_TURN_SECONDS:
            await asyncio.sleep(took)
            self._began = perf_counter()
