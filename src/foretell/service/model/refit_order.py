"""What came of decisions, put back into the order in which it came.

A refit reads decisions one by one, each with all that came of it. Of what came before the decision
that is read next, nothing is missing any more: later decisions bring only what came later. So only
what came after it waits here: about as many decisions as are open at a time.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_right
from typing import Protocol

_BITS = 20
"""Bits of a signal's index."""
_SPENT = 65_536
"""Entries that are taken, before their room is given back."""
ALL = 2**63


class Taker(Protocol):
    """Takes what came, in order."""

    def settle(self, now: int, action: int, signal: int, reward: float, *, silent: bool) -> None:
        """Take a reward that was settled for the first time."""

    def reward_came(self, now: int) -> None:
        """Take note of a reward that came."""

    def signal_came(self, now: int) -> None:
        """Take note of a signal that came."""


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

    def settle(self, now: int, action: int, signal: int, reward: float, *, silent: bool) -> None:
        """Take note of a reward that was settled."""
        place = len(self._at)
        if place > self._taken and now < self._at[-1]:  # seldom
            place = bisect_right(self._at, now, self._taken)
        self._at.insert(place, now)
        self._cell.insert(place, (action << _BITS | signal) << 1 | silent)
        self._reward.insert(place, reward)

    def replay(self, to: Taker, until: int = ALL) -> None:
        """Hand over what came before a moment, in order; of one moment, what settled first."""
        index, came = self._taken, self._came
        settle, end = to.settle, len(self._at)
        settled_at = self._at[index] if index < end else ALL
        while True:
            came_at = came[0] // 2 if came else ALL
            if settled_at >= until and came_at >= until:
                break
            if settled_at <= came_at:
                cell = self._cell[index]
                action, signal = cell >> 1 + _BITS, cell >> 1 & (1 << _BITS) - 1
                settle(settled_at, action, signal, self._reward[index], silent=bool(cell & 1))
                index += 1
                settled_at = self._at[index] if index < end else ALL
            elif heapq.heappop(came) % 2:
                to.reward_came(came_at)
            else:
                to.signal_came(came_at)
        self._taken = index
        if index > _SPENT:
            for numbers in (self._at, self._cell, self._reward):
                del numbers[:index]
            self._taken = 0
