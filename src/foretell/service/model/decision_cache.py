"""The decisions that a campaign has at hand, each with its outcome so far.

While the first window of a decision is open, it need not be at hand: nothing of it is settled, and
what comes only counts. The log must hold it, and it is read when its window closes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from foretell.errors import InvalidInput
from foretell.service.model.running import Running

MAX_DECISIONS = 4096
"""Decisions that a campaign has at hand: 3 MB. One that is open for longer is read again for each
of its windows, which takes as long as to fold it."""
MOST_RECENT = 16_384
"""Numbers of decisions that are kept at least: twice as many at most, which take 3 MB."""
NEVER = 2**63
"""A seq that never comes."""
DECISIONS_PER_READ = 64
"""Decisions that are read at a time for the windows of a stage that may be due."""


class DecisionCache:
    """The outcomes that a campaign has at hand: a bounded number, the longest unused go first."""

    def __init__(self, stages: int, evicted: Callable[[Iterable[int]], None]) -> None:
        """Begin empty; `evicted` is called with the numbers of decisions that had to go.

        What is read for the windows of all stages, and the decision of a record, must fit in at
        once: else what one stage needs would drop what another has just read, for ever.
        """
        if DECISIONS_PER_READ * stages >= MAX_DECISIONS:
            raise InvalidInput(
                f"a campaign with {stages} stages needs more than {DECISIONS_PER_READ * stages} "
                f"decisions at hand, got {MAX_DECISIONS}: raise MAX_DECISIONS, or use fewer stages"
            )
        self._by_number: OrderedDict[int, Running] = OrderedDict()
        self._by_rank: dict[int, Running] = {}
        self._evicted = evicted

    def add(self, running: Running) -> Running:
        """Keep an outcome, unless the decision is at hand already; return the one that is kept."""
        known = self.find(running.number)
        return self.add_new(running) if known is None else known

    def add_new(self, running: Running) -> Running:
        """Keep an outcome of a decision that is surely not at hand."""
        self._by_number[running.number] = self._by_rank[running.rank] = running
        if len(self._by_number) > MAX_DECISIONS:
            number, oldest = self._by_number.popitem(last=False)
            del self._by_rank[oldest.rank]
            self._evicted((number,))
        return running

    def forget(self, count: int) -> bool:
        """Let so many go of those that are at hand; return whether there are more."""
        for _ in range(min(count, len(self._by_number))):
            del self._by_rank[self._by_number.popitem()[1].rank]
        return bool(self._by_number)

    def find(self, number: int) -> Running | None:
        """Return the outcome of a decision."""
        running = self._by_number.get(number)
        if running is not None:
            self._by_number.move_to_end(number)
        return running

    def has_any(self, numbers: Iterable[int]) -> bool:
        """Return whether one of some decisions is at hand."""
        return not self._by_number.keys().isdisjoint(numbers)

    def at_rank(self, rank: int) -> Running | None:
        """Return the outcome of the decision of a round."""
        return self._by_rank.get(rank)


class RecentNumbers:
    """Numbers that were added lately; the older half is forgotten at once."""

    def __init__(self) -> None:
        """Begin without numbers."""
        self._new, self._old = set[int](), set[int]()

    def add(self, numbers: Iterable[int]) -> None:
        """Add numbers."""
        self._new.update(numbers)
        if len(self._new) >= MOST_RECENT:
            self._old, self._new = self._new, set()

    def lacking(self, numbers: set[int]) -> set[int]:
        """Return those of some numbers that were not added lately."""
        return numbers - self._new - self._old
