"""The counters of a campaign for its reports: whole numbers, so that no order of arrival matters.

They follow the outcome of each decision, not what was delivered to the policy: a correction moves
its decision from one count to another at once, whatever the policy can do with it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretell.service.model.outcome import Outcome
from foretell.types import GRAIN, Ints

MAX_STRETCHES = 256
SECOND = 1_000_000
COUNTS = (
    "decisions",
    "signals",
    "rewards",
    "late",
    "parked",
    "clipped",
    "revisions",
    "voided",
)
"""What is counted over all time, in the order of `Counters.counts`."""


def _zeros(*shape: int) -> Ints:
    return np.zeros(shape, np.int64)


@dataclass
class Counters:
    """Decisions, settled signals and settled rewards, over all time and over stretches of it.

    The stretches are equal, and become twice as long whenever there would be too many of them.
    """

    actions: int
    signals: int
    seen: Ints = field(init=False)
    """(actions, signals): settled signals."""
    paid: Ints = field(init=False)
    """(actions, signals): settled rewards."""
    grains: Ints = field(init=False)
    """(actions, signals): their sum in grains of the unit reward."""
    counts: list[int] = field(default_factory=lambda: [0] * len(COUNTS))
    clock: list[int] = field(default_factory=lambda: [-1, SECOND])
    """When the first stretch began (−1: not yet), and how long each is, in microseconds."""
    decided: Ints = field(init=False)
    """(stretches, actions): decisions."""
    signalled: Ints = field(init=False)
    """(stretches, actions, signals): settled signals of these decisions."""
    rewarded: Ints = field(init=False)
    """(stretches, 3): settled rewards of these decisions, their sum in grains, and voids."""

    def __post_init__(self) -> None:
        """Count nothing yet."""
        stretches = _stretches(self.actions, self.signals)
        self.seen = _zeros(self.actions, self.signals)
        self.paid = _zeros(self.actions, self.signals)
        self.grains = _zeros(self.actions, self.signals)
        self.decided = _zeros(stretches, self.actions)
        self.signalled = _zeros(stretches, self.actions, self.signals)
        self.rewarded = _zeros(stretches, 3)

    def count(self, name: str, by: int = 1) -> None:
        """Add to one of `COUNTS`."""
        self.counts[COUNTS.index(name)] += by

    @property
    def parked(self) -> int:
        """How much feedback waits for its reward, or for a decision that is not here."""
        return self.counts[COUNTS.index("parked")]

    def decide(self, decided_at: int, action: int) -> None:
        """Count a decision."""
        self.counts[0] += 1
        stretch = self._stretch(decided_at)  # first: it may replace the array
        self.decided[stretch, action] += 1

    def void(self, decided_at: int) -> None:
        """Count a decision that was never shown."""
        self.count("voided")
        stretch = self._stretch(decided_at)
        self.rewarded[stretch, 2] += 1

    def move(
        self,
        decided_at: int,
        action: int,
        before: Outcome,
        after: Outcome,
        units: tuple[float, float],
    ) -> None:
        """Count a decision under another outcome; `units` are the two rewards in unit rewards."""
        stretch = self._stretch(decided_at)
        for outcome, unit, sign in ((before, units[0], -1), (after, units[1], 1)):
            if outcome[0] is None:
                continue
            signal = int(outcome[0])
            self.seen[action, signal] += sign
            self.signalled[stretch, action, signal] += sign
            if outcome[-1] is not None:
                grains = sign * round(unit * GRAIN)
                self.paid[action, signal] += sign
                self.grains[action, signal] += grains
                self.rewarded[stretch, 0] += sign
                self.rewarded[stretch, 1] += grains

    def grow(self, actions: int, signals: int) -> None:
        """Make room for more actions or signals."""
        grown = Counters(actions, signals, counts=self.counts, clock=self.clock)
        while self.decided.shape[0] > grown.decided.shape[0]:
            self._halve()
        for name in ("seen", "paid", "grains", "decided", "signalled", "rewarded"):
            known = getattr(self, name)
            getattr(grown, name)[tuple(slice(length) for length in known.shape)] = known
            setattr(self, name, getattr(grown, name))
        self.actions, self.signals = actions, signals

    def arrays(self) -> dict[str, Ints]:
        """Return every count by its name."""
        names = ("seen", "paid", "grains", "counts", "clock", "decided", "signalled", "rewarded")
        return {name: np.asarray(getattr(self, name), np.int64) for name in names}

    def restore(self, arrays: dict[str, Ints]) -> None:
        """Take the counts that `arrays` returned."""
        for name, array in arrays.items():
            setattr(self, name, array.tolist() if name in ("counts", "clock") else array.copy())

    def _stretch(self, decided_at: int) -> int:
        if self.clock[0] < 0:
            self.clock[0] = decided_at
        while (decided_at - self.clock[0]) // self.clock[1] >= self.decided.shape[0]:
            self._double()
        return max(0, (decided_at - self.clock[0]) // self.clock[1])

    def _double(self) -> None:
        """Make each stretch twice as long; there are as many as before."""
        for name in ("decided", "signalled", "rewarded"):
            pairs = getattr(self, name)
            merged = np.zeros_like(pairs)
            merged[: len(pairs) // 2] = pairs[0::2] + pairs[1::2]
            setattr(self, name, merged)
        self.clock[1] *= 2

    def _halve(self) -> None:
        """Make each stretch twice as long; there are half as many."""
        self._double()
        for name in ("decided", "signalled", "rewarded"):
            pairs = getattr(self, name)
            setattr(self, name, pairs[: len(pairs) // 2].copy())


def _stretches(actions: int, signals: int) -> int:
    """Return how many stretches are kept: a power of 2, fewer for large problems."""
    room = max(4, min(MAX_STRETCHES, 200_000 // (actions * signals)))
    return 1 << (room.bit_length() - 1)
