"""The counters of a campaign, from which its reports are made without reading the log.

They follow the outcome of each decision, not what was delivered to the policy: a correction moves
its decision from one count to another at once, whatever the policy can do with it. All are whole
numbers, so that no order of arrival matters, and what is taken back leaves no trace.

- `counts`: records over all time, by name;
- `latest`: when the last decision, signal and reward were recorded;
- `total`: settled signals and rewards by action and signal, over all time;
- `stretches`: the same over time, by mode and action and by action and signal;
- `arrivals`: how long signals and rewards took to come.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foretell.service.model.arrivals import Arrival, Arrivals, bin_of
from foretell.service.model.running import Running
from foretell.service.model.stretches import CELL, Stretches
from foretell.types import Bools, Ints

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
LATEST = ("decision", "signal", "reward")
"""What has a latest time, in the order of `Counters.latest`."""
_COUNT = {name: index for index, name in enumerate(COUNTS)}
_LATEST = {name: index for index, name in enumerate(LATEST)}
_SQUARE_SHIFT = 30  # a square of grains, in grains again


class Counted(NamedTuple):
    """What counts of one decision, and when it came."""

    signal: int | None = None
    """None while it is open, and of a decision that was never shown: then nothing counts."""
    grains: int | None = None
    """The settled reward, in grains of the unit reward; None while it is open."""
    clipped: bool = False
    """Whether the settled reward lies outside the range."""
    signal_arrival: Arrival | None = None
    """None where the signal is what silence became."""
    reward_arrival: Arrival | None = None
    """That of the first reward, which need not be settled yet."""


UNCOUNTED = Counted()


class Counters:
    """All that is counted of one campaign."""

    def __init__(self, actions: int, signals: int) -> None:
        """Count nothing yet."""
        self.counts = [0] * len(COUNTS)
        self.latest = [-1] * len(LATEST)
        """In microseconds; −1: never. Feedback about a decision that is not here does not count."""
        self._keep_total(np.zeros((actions, signals, len(CELL)), np.int64))
        self.stretches = Stretches(actions, signals)
        self.arrivals = Arrivals(signals)

    def _keep_total(self, total: Ints) -> None:
        """Keep these counts; one number is added faster through a flat view of them."""
        self.total = total
        """(actions, signals, `CELL`)"""
        self._flat_total = total.reshape(-1).data

    @property
    def seen(self) -> Ints:
        """(actions, signals): settled signals."""
        return self.total[..., 0]

    @property
    def paid(self) -> Ints:
        """(actions, signals): settled rewards."""
        return self.total[..., 1]

    @property
    def grains(self) -> Ints:
        """(actions, signals): their sum, in grains of the unit reward."""
        return self.total[..., 2]

    @property
    def squares(self) -> Ints:
        """(actions, signals): the sum of their squares, in grains too."""
        return self.total[..., 3]

    def count(self, name: str, by: int = 1) -> None:
        """Add to one of `COUNTS`."""
        self.counts[_COUNT[name]] += by

    def note(self, name: str, recorded_at: int) -> None:
        """Note when one of `LATEST` was recorded."""
        index = _LATEST[name]
        self.latest[index] = max(self.latest[index], recorded_at)

    @property
    def parked(self) -> int:
        """How much feedback waits for its reward, or for a decision that is not here."""
        return self.counts[COUNTS.index("parked")]

    @property
    def voided(self) -> int:
        """How many decisions were never shown."""
        return self.counts[COUNTS.index("voided")]

    @property
    def revisions(self) -> int:
        """How many corrections the policy reads at its next refit only."""
        return self.counts[COUNTS.index("revisions")]

    def decide(self, decision: Running) -> None:
        """Count a decision."""
        decided_at = decision.decided_at
        self.counts[0] += 1
        self.latest[0] = max(self.latest[0], decided_at)
        self.stretches.decide(decided_at, decision.mode, decision.action)

    def void(self, decision: Running) -> None:
        """Count a decision that was never shown."""
        self.count("voided")
        self.stretches.void(decision.decided_at, decision.mode, decision.action)

    def move(self, decision: Running, before: Counted, after: Counted) -> None:
        """Count a decision under what it has come to, in place of what it was before."""
        if before == after:
            return
        if after.clipped != before.clipped:
            self.count("clipped", after.clipped - before.clipped)
        mode, action = decision.mode, decision.action
        stretch = self.stretches.index(decision.decided_at)
        same_signal = before.signal == after.signal
        for counted, other, sign in ((before, after, -1), (after, before, 1)):
            signal = counted.signal
            if signal is None:
                continue
            if not same_signal:
                self._flat_total[self._cell(action, signal)] += sign
                self.stretches.signal(stretch, mode, action, signal, sign)
            if counted.grains is not None and not (same_signal and counted.grains == other.grains):
                self._reward(stretch, mode, action, signal, sign, counted.grains)
            came = counted.signal_arrival
            if came is not None and not (same_signal and came == other.signal_arrival):
                self.arrivals.signals[signal, bin_of(came.age)] += sign
                self.stretches.arrive(stretch, signal, 0, sign, late=came.late)
            came = counted.reward_arrival
            if came is not None and not (same_signal and came == other.reward_arrival):
                self.arrivals.rewards[signal, bin_of(came.age)] += sign
                self.stretches.arrive(stretch, signal, 2, sign, late=came.late)

    def _reward(
        self, stretch: int, mode: int, action: int, signal: int, sign: int, grains: int
    ) -> None:
        square = grains * grains + (1 << _SQUARE_SHIFT - 1) >> _SQUARE_SHIFT
        counts, cell = self._flat_total, self._cell(action, signal)
        counts[cell + 1] += sign
        counts[cell + 2] += sign * grains
        counts[cell + 3] += sign * square
        self.stretches.reward(stretch, mode, action, signal, sign, grains, square)

    def _cell(self, action: int, signal: int) -> int:
        return (action * self.total.shape[1] + signal) * len(CELL)

    def add_outcomes(
        self,
        decided_at: Ints,
        mode: Ints,
        action: Ints,
        signal: Ints,
        seen: Bools,
        paid: Bools,
        grains: Ints,
    ) -> None:
        """Count many decisions that were not counted before; those `seen` have a settled signal."""
        square = grains * grains + (1 << _SQUARE_SHIFT - 1) >> _SQUARE_SHIFT
        cell = np.stack([seen, paid, grains, square * paid], axis=1).astype(np.int64)[seen]
        action, signal = action[seen], signal[seen]
        np.add.at(self.total, (action, signal), cell)
        self.stretches.add_outcomes(decided_at[seen], mode[seen], action, signal, cell)

    def copy(self) -> Counters:
        """Return a copy, which stays as it is while these go on."""
        copied = Counters(*self.total.shape[:2])
        copied.restore(self.arrays())
        return copied

    def grow(self, actions: int, signals: int) -> None:
        """Make room for more actions or signals."""
        known, grown = self.total, np.zeros((actions, signals, len(CELL)), np.int64)
        grown[: known.shape[0], : known.shape[1]] = known
        self._keep_total(grown)
        self.stretches.grow(actions, signals)
        self.arrivals.grow(signals)

    def arrays(self) -> dict[str, Ints]:
        """Return every count by its name."""
        return {
            "counts": np.array(self.counts, np.int64),
            "latest": np.array(self.latest, np.int64),
            "total": self.total,
            "signal_ages": self.arrivals.signals,
            "reward_ages": self.arrivals.rewards,
            **self.stretches.arrays(),
        }

    def restore(self, arrays: dict[str, Ints]) -> None:
        """Take the counts that `arrays` returned."""
        self.counts, self.latest = arrays["counts"].tolist(), arrays["latest"].tolist()
        self.total[...] = arrays["total"]
        self.arrivals.signals[...] = arrays["signal_ages"]
        self.arrivals.rewards[...] = arrays["reward_ages"]
        self.stretches.restore(arrays)
