"""The decisions that a campaign has at hand, each with its outcome so far."""

from __future__ import annotations

from collections import OrderedDict

from foretell.errors import InvalidInput
from foretell.service.model.recent_numbers import RecentNumbers
from foretell.service.model.running import Running

MAX_DECISIONS = 4096
"""Decisions that a campaign has at hand: 3 MB. One that is open for longer is read again for each
of its windows, which takes as long as to fold it."""
DECISIONS_PER_READ = 64
"""Decisions that are read at a time for the windows of a stage that may be due."""


class DecisionCache:
    """The outcomes that a campaign has at hand: a bounded number, the longest unused go first."""

    def __init__(self, stages: int) -> None:
        """Begin empty.

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
        self.stored = RecentNumbers()
        """Decisions that the log is known to hold, although they are not at hand."""
        self.rewarded = RecentNumbers()
        """Those of them whose last reward was counted without reading them."""

    def add(self, running: Running) -> Running:
        """Keep an outcome, unless the decision is at hand already; return the one that is kept."""
        known = self.find(running.number)
        if known is not None:
            return known
        self._by_number[running.number] = self._by_rank[running.rank] = running
        if len(self._by_number) > MAX_DECISIONS:
            number, oldest = self._by_number.popitem(last=False)
            del self._by_rank[oldest.rank]
            self.stored.add((number,))
        return running

    def find(self, number: int) -> Running | None:
        """Return the outcome of a decision."""
        running = self._by_number.get(number)
        if running is not None:
            self._by_number.move_to_end(number)
        return running

    def at_rank(self, rank: int) -> Running | None:
        """Return the outcome of the decision of a round."""
        return self._by_rank.get(rank)
