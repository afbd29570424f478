"""How long signals and rewards took to come: counts of arrivals by age, on one grid for all.

An arrival is that of the signal that counts, or of the first reward, and its age is the time since
its decision. The grid is geometric, four bins to each doubling of the age, so that 10 ms and ten
years are both told to within a fifth of themselves, and within a bin one may interpolate.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from foretell.types import Ints

_OCTAVE = (10_000, 11_892, 14_142, 16_818)
EDGES: tuple[int, ...] = tuple(edge << octave for octave in range(37) for edge in _OCTAVE)
"""Where bins end, in microseconds: bin 0 is [0, EDGES[0]), the last one is open."""
BINS = len(EDGES) + 1


def bin_of(age: int) -> int:
    """Return the bin of an age in microseconds.

    >>> bin_of(0), bin_of(9_999), bin_of(10_000), bin_of(20_000), bin_of(10**18) == BINS - 1
    (0, 0, 1, 5, True)
    """
    return bisect_right(EDGES, age)


class Arrival(NamedTuple):
    """When something came of a decision."""

    age: int
    """Microseconds since the decision."""
    late: bool
    """Whether it came after its window."""


class Arrivals:
    """Counts of arrivals by the signal that counts, and by age."""

    def __init__(self, signals: int) -> None:
        """Count nothing yet."""
        self.signals: Ints = np.zeros((signals, BINS), np.int64)
        """(signals, bins): when the signal came that counts."""
        self.rewards: Ints = np.zeros((signals, BINS), np.int64)
        """(signals, bins): when the first reward came."""

    def grow(self, signals: int) -> None:
        """Make room for more signals."""
        more = ((0, signals - len(self.signals)), (0, 0))
        self.signals, self.rewards = np.pad(self.signals, more), np.pad(self.rewards, more)
