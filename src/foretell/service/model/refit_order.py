"""What came of decisions, put back into the order in which it came.

A refit reads decisions one by one, each with all that came of it. Of what came before the decision
that is read next, nothing is missing any more: later decisions bring only what came later. So only
what came after it waits here: about as many decisions as are open at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from foretell.types import Bools, Floats, Ints

_BITS = 20
"""Bits of a signal's index."""
_FEW = 512
"""What has come is put in order when there is so much more of it, or more by one in `_SHARE`."""
_SHARE = 8
ALL = 2**63 - 1


class Taker(Protocol):
    """Takes what came, in order."""

    def settle_all(
        self, now: list[int], rewards: list[tuple[int, int, float]], silent: list[int]
    ) -> None:
        """Take rewards that were settled for the first time, each with its action and signal."""

    def rewards_came(self, now: Sequence[int]) -> None:
        """Take note of rewards that came."""

    def signals_came(self, now: Sequence[int]) -> None:
        """Take note of signals that came."""


class RefitOrder:
    """Waits until nothing earlier can be missing; numbers are packed, as these may be many."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.signals, self.rewards = array("q"), array("q")
        """When signals came, and rewards, in any order: add to them."""
        self._at, self._cell, self._reward = array("q"), array("q"), array("d")
        """What was settled; of one moment, in the order of decisions."""
        self._left = 0
        """How much was waiting after the last replay."""

    def settle(self, now: int, action: int, signal: int, reward: float, *, silent: bool) -> None:
        """Take note of a reward that was settled."""
        self._at.append(now)
        self._cell.append((action << _BITS | signal) << 1 | silent)
        self._reward.append(reward)

    def settle_all(
        self, now: Ints, action: Ints, signal: Ints, reward: Floats, silent: Bools
    ) -> None:
        """Take note of many rewards that were settled, in the order of decisions."""
        self._at.frombytes(now.tobytes())
        self._cell.frombytes(((action << _BITS | signal) << 1 | silent).tobytes())
        self._reward.frombytes(reward.tobytes())

    def replay(self, to: Taker, until: int = ALL) -> None:
        """Hand over what came before a moment, in order; of one moment, what settled first.

        As long as more will come, that is put off while there is little of it.
        """
        waiting = len(self.signals) + len(self.rewards) + len(self._at)
        if until < ALL and waiting - self._left < max(_FEW, self._left // _SHARE):
            return
        self.signals, signals = _split(self.signals, until)
        to.signals_came(signals)
        self.rewards, rewards = _split(self.rewards, until)
        at = np.frombuffer(self._at, np.int64)
        order = np.argsort(at, kind="stable")
        at = at[order]
        end = int(np.searchsorted(at, until))
        cell = np.frombuffer(self._cell, np.int64)[order]
        reward = np.frombuffer(self._reward)[order]
        self._at, self._cell = array("q", at[end:].tobytes()), array("q", cell[end:].tobytes())
        self._reward = array("d", reward[end:].tobytes())
        moments, paid, silent = _settled(at[:end], cell[:end], reward[:end])
        first, ends = 0, np.searchsorted(at[:end], rewards, "right").tolist()
        for came, before in zip(rewards, ends, strict=True):
            if first < before:
                to.settle_all(moments[first:before], paid[first:before], silent[first:before])
            to.rewards_came((came,))
            first = before
        to.settle_all(moments[first:], paid[first:], silent[first:])
        self._left = len(self.signals) + len(self.rewards) + len(self._at)


def _split(moments: Any, until: int) -> tuple[Any, list[int]]:
    """Sort moments; return those from one on, as they were packed, and those before it."""
    found = np.sort(np.frombuffer(moments, np.int64))
    end = int(np.searchsorted(found, until))
    return array("q", found[end:].tobytes()), found[:end].tolist()


def _settled(
    at: Ints, cell: Ints, reward: Floats
) -> tuple[list[int], list[tuple[int, int, float]], list[int]]:
    """Return when rewards were settled, each with its action and signal, and which by silence."""
    action, signal = cell >> 1 + _BITS, cell >> 1 & (1 << _BITS) - 1
    rewards = zip(action.tolist(), signal.tolist(), reward.tolist(), strict=True)
    return at.tolist(), list(rewards), (cell & 1).tolist()
