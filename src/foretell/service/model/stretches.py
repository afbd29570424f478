"""What a campaign counts over time: by when a decision was made, in stretches of equal length.

Stretches begin at whole multiples of their length since 1970, so that days begin at midnight UTC.
Their length is one of `lengths()`, each a multiple of the one before: whenever there would be more
stretches than are kept, they are merged into longer ones. The length is a function of the first
decision, the last one and the size of the campaign, and every number is whole: so no order of
arrival matters, and what is undone leaves no trace.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from foretell.service.model.events import MODES
from foretell.types import Bools, Ints

SECOND = 1_000_000
MAX_STRETCHES = 256
MAX_NUMBERS = 250_000
"""Numbers that are kept, about: a large campaign has fewer stretches."""
TRAFFIC = ("decisions", "voids", "signals", "rewards", "grains", "squares")
"""What is counted by mode and action: signals and rewards are settled ones, as in `CELL`."""
CELL = ("signals", "rewards", "grains", "squares")
"""What is counted by action and signal: settled signals, settled rewards, the sum of these and of
their squares, both in grains of the unit reward."""
ARRIVED = ("signals", "late_signals", "rewards", "late_rewards")
"""What is counted by signal: decisions whose signal came, whose first reward came, and of each how
many came after their window."""
DECISIONS, VOIDS = 0, 1
_NAMES = ("traffic", "cells", "mode_signals", "arrived")


def lengths() -> Iterator[int]:
    """Return the lengths that a stretch may have, in microseconds, without end.

    >>> from itertools import islice
    >>> [length // SECOND for length in islice(lengths(), 15)]
    [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 345600]
    """
    length = SECOND
    for factor in (1, 5, 3, 2, 2, 5, 3, 2, 2, 2, 3, 2, 2):
        length *= factor
        yield length
    while True:
        length *= 2
        yield length


def longer(length: int, at_least: int = 0) -> int:
    """Return the next length after one, or the first after it that is long enough."""
    return next(one for one in lengths() if one > length and one >= at_least)


class Stretches:
    """Counts by stretch of time, mode, action and signal."""

    def __init__(self, actions: int, signals: int) -> None:
        """Count nothing yet."""
        self.actions, self.signals = actions, signals
        self.first = self.last = -1
        """When the first decision was made, and the last one, in microseconds; −1: none."""
        self.length = SECOND
        """How long a stretch is, in microseconds."""
        kept = kept_stretches(actions, signals)
        self._keep(
            traffic=np.zeros((kept, len(MODES), actions, len(TRAFFIC)), np.int64),
            cells=np.zeros((kept, actions, signals, len(CELL)), np.int64),
            mode_signals=np.zeros((kept, len(MODES), signals), np.int64),
            arrived=np.zeros((kept, signals, len(ARRIVED)), np.int64),
        )

    def _keep(self, traffic: Ints, cells: Ints, mode_signals: Ints, arrived: Ints) -> None:
        """Keep these counts; one number is added faster through a flat view of them."""
        self.traffic = traffic
        """(stretches, modes, actions, `TRAFFIC`)"""
        self.cells = cells
        """(stretches, actions, signals, `CELL`)"""
        self.mode_signals = mode_signals
        """(stretches, modes, signals): settled signals."""
        self.arrived = arrived
        """(stretches, signals, `ARRIVED`), by the signal that counts."""
        self._flat_traffic = traffic.reshape(-1).data
        self._flat_cells = cells.reshape(-1).data
        self._flat_mode_signals = mode_signals.reshape(-1).data
        self._flat_arrived = arrived.reshape(-1).data

    def __len__(self) -> int:
        """How many stretches there are, from that of the first decision to that of the last."""
        return 0 if self.first < 0 else self.last // self.length - self.first // self.length + 1

    def begin(self, stretch: int) -> int:
        """Return when a stretch begins, in microseconds."""
        return (self.first // self.length + stretch) * self.length

    def index(self, decided_at: int) -> int:
        """Return the stretch of a decision that was counted."""
        return max(0, decided_at // self.length - self.first // self.length)

    def reach(self, first: int, last: int) -> None:
        """Make room for decisions made from one moment to another."""
        if self.first < 0:
            self.first = first
        self.last = max(self.last, last)
        self._fit(len(self.traffic))

    def decide(self, decided_at: int, mode: int, action: int) -> None:
        """Count a decision."""
        stretch = self.index(decided_at)
        if self.first < 0 or stretch >= len(self.traffic):
            self.reach(decided_at, decided_at)
            stretch = self.index(decided_at)
        elif decided_at > self.last:
            self.last = decided_at
        self._flat_traffic[self._traffic(stretch, mode, action) + DECISIONS] += 1

    def void(self, decided_at: int, mode: int, action: int) -> None:
        """Count a decision that was never shown."""
        self._flat_traffic[self._traffic(self.index(decided_at), mode, action) + VOIDS] += 1

    def signal(self, stretch: int, mode: int, action: int, signal: int, sign: int) -> None:
        """Count a settled signal, or with a sign of −1 take it back."""
        self._flat_traffic[self._traffic(stretch, mode, action) + 2] += sign
        self._flat_cells[self._cell(stretch, action, signal)] += sign
        self._flat_mode_signals[(stretch * len(MODES) + mode) * self.signals + signal] += sign

    def reward(
        self, stretch: int, mode: int, action: int, signal: int, sign: int, grains: int, square: int
    ) -> None:
        """Count a settled reward, or take it back."""
        for counts, index in (
            (self._flat_traffic, self._traffic(stretch, mode, action) + 3),
            (self._flat_cells, self._cell(stretch, action, signal) + 1),
        ):
            counts[index] += sign
            counts[index + 1] += sign * grains
            counts[index + 2] += sign * square

    def arrive(self, stretch: int, signal: int, what: int, sign: int, *, late: bool) -> None:
        """Count what came of a decision, its signal (0) or its first reward (2)."""
        index = (stretch * self.signals + signal) * len(ARRIVED) + what
        self._flat_arrived[index] += sign
        if late:
            self._flat_arrived[index + 1] += sign

    def indices(self, decided_at: Ints) -> Ints:
        """Return the stretches of decisions that were counted."""
        return np.maximum(0, decided_at // self.length - self.first // self.length)

    def add_decisions(self, decided_at: Ints, mode: Ints, action: Ints, void: Bools) -> None:
        """Count many decisions, and which of them were never shown; `reach` was called for them."""
        stretch = self.indices(decided_at)
        np.add.at(self.traffic[..., DECISIONS], (stretch, mode, action), 1)
        np.add.at(self.traffic[..., VOIDS], (stretch[void], mode[void], action[void]), 1)

    def add_outcomes(
        self,
        decided_at: Ints,
        mode: Ints,
        action: Ints,
        signal: Ints,
        cell: Ints,
    ) -> None:
        """Count many settled signals, with their rewards: `cell` is what each adds to a cell."""
        stretch = self.indices(decided_at)
        np.add.at(self.cells, (stretch, action, signal), cell)
        np.add.at(self.traffic[..., 2:], (stretch, mode, action), cell)
        np.add.at(self.mode_signals, (stretch, mode, signal), 1)

    def add_arrivals(self, decided_at: Ints, signal: Ints, what: int, late: Bools) -> None:
        """Count what came of many decisions, their signals (0) or their first rewards (2)."""
        stretch = self.indices(decided_at)
        np.add.at(self.arrived[..., what], (stretch, signal), 1)
        np.add.at(self.arrived[..., what + 1], (stretch[late], signal[late]), 1)

    def _traffic(self, stretch: int, mode: int, action: int) -> int:
        return ((stretch * len(MODES) + mode) * self.actions + action) * len(TRAFFIC)

    def _cell(self, stretch: int, action: int, signal: int) -> int:
        return ((stretch * self.actions + action) * self.signals + signal) * len(CELL)

    def grow(self, actions: int, signals: int) -> None:
        """Make room for more actions or signals, and for fewer stretches if these are many."""
        grown = Stretches(actions, signals)
        self._fit(len(grown.traffic))
        for name in _NAMES:
            _copy(getattr(self, name)[: len(self)], getattr(grown, name))
        self.actions, self.signals = actions, signals
        self._keep(**{name: getattr(grown, name) for name in _NAMES})

    def _fit(self, room: int) -> None:
        """Make each stretch longer, in one go, until so many are enough."""
        length = self.length
        while self.last // length - self.first // length >= room:
            length = longer(length)
        if length > self.length:
            self._merge(length)

    def _merge(self, length: int) -> None:
        """Make each stretch so long; there is room for as many as before."""
        factor = length // self.length
        before = self.first // self.length % factor  # stretches of the first long one, before ours
        merged = {}
        for name in _NAMES:
            known = getattr(self, name)
            merged[name] = np.zeros_like(known)
            into = (np.arange(len(known)) + before) // factor
            np.add.at(merged[name], into[into < len(known)], known[into < len(known)])
        self.length = length
        self._keep(**merged)

    def arrays(self) -> dict[str, Ints]:
        """Return all that is counted, by name; stretches that are still to come are left out."""
        clock = np.array([self.first, self.last, self.length], np.int64)
        return {"clock": clock} | {name: getattr(self, name)[: len(self)] for name in _NAMES}

    def restore(self, arrays: dict[str, Ints]) -> None:
        """Take the counts that `arrays` returned."""
        self.first, self.last, self.length = arrays["clock"].tolist()
        for name in _NAMES:
            _copy(arrays[name], getattr(self, name))


def kept_stretches(actions: int, signals: int) -> int:
    """Return how many stretches are kept of a campaign of this size.

    >>> kept_stretches(3, 3), kept_stretches(50, 20), kept_stretches(10_000, 100)
    (256, 46, 2)
    """
    by_mode = len(MODES) * (actions * len(TRAFFIC) + signals)
    numbers = by_mode + signals * (actions * len(CELL) + len(ARRIVED))
    return max(2, min(MAX_STRETCHES, MAX_NUMBERS // numbers))


def _copy(known: Ints, into: Ints) -> None:
    into[tuple(slice(length) for length in known.shape)] = known
