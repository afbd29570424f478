"""Stamps: the seqs of records, strictly increasing with log time."""

from __future__ import annotations

import threading
from collections import deque

from foretell.service.log.clock import Clock, Mark
from foretell.service.model.events import SLOTS, moment, stamp

SLOT = 0
"""The slot of the one stream that a log of a single process has open."""


class Stamps:
    """Makes strictly increasing seqs, whichever thread asks for them.

    Groups of records that were stamped, and are not known to be durable yet, are in flight: what
    is above the first of them is not complete.
    """

    def __init__(self, clock: Clock, head: int, slot: int = SLOT) -> None:
        """Begin at a head: the first seq that may be given, in the slot of a stream."""
        self.clock = clock
        self.slot = slot
        self._next = moment(head + SLOTS - 1)
        self._in_flight: deque[int] = deque()
        self._lock = threading.Lock()

    def begin(self, records: int) -> range:
        """Begin a group: return a seq for each of its records, in flight until it is settled."""
        with self._lock:
            first = self._at_least_now()
            self._next += records
            self._in_flight.append(first)
        return range(first + self.slot, stamp(self._next), SLOTS)

    def give_back(self, seqs: range) -> None:
        """Take no time for the last seqs of the newest group: their drafts were not written."""
        with self._lock:
            if seqs and moment(seqs[-1]) + 1 == self._next:
                self._next -= len(seqs)

    def settle(self) -> None:
        """End the oldest group: its records are durable, and were handed on."""
        with self._lock:
            self._in_flight.popleft()

    def settle_all(self) -> None:
        """End all groups, when it is known what of them was written."""
        with self._lock:
            self._in_flight.clear()

    def now(self) -> int:
        """Return a seq for this moment, above all that were given; none below it will be."""
        with self._lock:
            return self._at_least_now()

    def head(self) -> int:
        """Return the first seq that may still be used: all records below it are durable."""
        with self._lock:
            return self._in_flight[0] if self._in_flight else stamp(self._next)

    def complete(self) -> int:
        """Return the highest seq below which no record will come any more, as of this moment."""
        with self._lock:
            return self._in_flight[0] if self._in_flight else self._at_least_now()

    def advance(self, head: int) -> None:
        """Leave out all seqs below a head."""
        with self._lock:
            self._next = max(self._next, moment(head + SLOTS - 1))

    def mark(self) -> Mark:
        """Return what to store, so that time goes on after all that was given."""
        with self._lock:
            return self.clock.mark(self._next)

    def _at_least_now(self) -> int:
        self._next = max(self._next, self.clock.now())
        return stamp(self._next)
