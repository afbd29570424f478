"""Long work beside the traffic: it lets other work go on, and says how far it has come."""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, TypeVar

LONG_TURN_SECONDS = 0.001
"""After so long other work gets its turn: what is begun by then is ended within 2 ms."""
SHORT_TURN_SECONDS = 0.0005
"""After so long work that takes its time lets others go on."""
MOST_WAIT, LOOK_SECONDS = 3.0, 0.0003
"""A thread waits for so many times its own turn, and looks so often whether it may go on."""
SWITCH_SECONDS = 0.0002
"""How long such a thread keeps Python's lock when a request asks for it, which each does often."""
BUSY_SECONDS = 0.05
"""For so long after a request the turns of a thread are short, since the next may come."""
Progress = Callable[[int], None]
"""Called with how many records or decisions were read."""


def no_progress(_: int) -> None:
    """Tell nobody."""


LARGE = 2000
"""Actions times signals, or decisions, from which on work on all of them is done in a thread."""
Result = TypeVar("Result")


class ShortSwitches:
    """While long work goes on in threads, each of them gives Python's lock away sooner."""

    def __init__(self) -> None:
        """Begin with no such work."""
        self._works, self._usual = 0, 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        """Begin a work."""
        with self._lock:
            if not self._works:
                self._usual = sys.getswitchinterval()
                sys.setswitchinterval(min(self._usual, SWITCH_SECONDS))
            self._works += 1

    def __exit__(self, *_: object) -> None:
        """End a work; after the last, switches are as they were."""
        with self._lock:
            self._works -= 1
            if not self._works:
                sys.setswitchinterval(self._usual)


_short_switches = ShortSwitches()


async def in_thread(work: Callable[..., Result], *arguments: Any) -> Result:
    """Call something that takes long in a thread, which gives way to requests."""
    with _short_switches:
        return await asyncio.to_thread(work, *arguments)


async def in_thread_if_large(size: int, work: Callable[..., Result], *arguments: Any) -> Result:
    """Call something whose work grows with the size of a campaign, where nobody waits for it."""
    return await in_thread(work, *arguments) if size >= LARGE else work(*arguments)


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


class TurnsBetweenRequests(Turns):
    """The turns of work in the thread that serves requests: it takes half of the time."""

    async def pause(self) -> None:
        """Let others go on for as long as the turn took: requests hardly feel it."""
        took = perf_counter() - self._began
        if took > SHORT_TURN_SECONDS:
            await asyncio.sleep(took)
            self._began = perf_counter()


class TurnsOfThread(Turns):
    """The turns of work in a thread of its own: while requests are answered, it waits.

    Else both would ask for Python's lock again and again, and each answer would wait for it a dozen
    times. Under a load without a pause, a quarter of the time is left to the thread.
    """

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        """Begin a turn; `is_busy` says whether a request is being answered."""
        super().__init__()
        self._is_busy = is_busy
        self._last_busy = -math.inf

    @property
    def busy(self) -> bool:
        """Whether one was being answered not long ago: then the next turn had better be short."""
        return perf_counter() - self._last_busy < BUSY_SECONDS

    async def pause(self) -> None:
        """Wait until no request is being answered, at most three times as long as the turn."""
        ended = perf_counter()
        until = ended + MOST_WAIT * (ended - self._began)
        while self._is_busy():
            self._last_busy = perf_counter()
            if self._last_busy > until:
                break
            await asyncio.sleep(LOOK_SECONDS)
        self._began = perf_counter()
