"""What came of decisions, put back into the order in which it came.

A refit reads decisions one by one, each with all that came of it. Of what came before the decision
that is read next, nothing is missing any more: later decisions bring only what came later. So only
what came after it waits here: about as many decisions as are open at a time.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

_BITS = 20
"""Bits of a signal's index."""
_SPENT = 65_536
"""Entries that are taken, before their room is given back."""
ALL = 2**63


class Settled(NamedTuple):
    """A reward that was settled for the first time."""

    at: int
    action: int
    signal: int
    reward: float
    silent: bool


class Came(NamedTuple):
    """A signal or a reward that came."""

    at: int
    reward: bool


class RefitOrder:
    """Waits until nothing earlier can be missing; numbers are packed, as these may be many."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._came: list[int] = []
        """A heap: moments, each doubled, with 1 added for a reward."""
        self._at, self._cell, self._reward = array("q"), array("q"), array("d")
        """What was settled, in the order of time."""
        self._taken = 0

    def came(self, now: int, *, reward: bool) -> None:
        """Take note of a signal or a reward that came."""
        heapq.heappush(self._came, 2 * now + reward)

    def settle(self, one: Settled) -> None:
        """Take note of a reward that was settled."""
        place = bisect_right(self._at, one.at, self._taken)  # nearly always the end
        self._at.insert(place, one.at)
        self._cell.insert(place, (one.action << _BITS | one.signal) << 1 | one.silent)
        self._reward.insert(place, one.reward)

    def take(self, until: int = ALL) -> Iterator[Settled | Came]:
        """Return what came before a moment, in order; of one moment, what settled comes first."""
        while True:
            settled = self._at[self._taken] if self._taken < len(self._at) else ALL
            came = self._came[0] // 2 if self._came else ALL
            if min(settled, came) >= until:
                break
            if settled <= came:
                yield self._next_settled()
            else:
                yield Came(came, bool(heapq.heappop(self._came) % 2))
        if self._taken > _SPENT:
            for numbers in (self._at, self._cell, self._reward):
                del numbers[: self._taken]
            self._taken = 0

    def _next_settled(self) -> Settled:
        index = self._taken
        self._taken += 1
        cell = self._cell[index]
        action, signal = cell >> 1 + _BITS, cell >> 1 & (1 << _BITS) - 1
        return Settled(self._at[index], action, signal, self._reward[index], bool(cell & 1))
