"""The decisions that a campaign has at hand, each with its outcome so far."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from foretell.errors import InvalidInput
from foretell.service.model.running import Running

MAX_DECISIONS = 4096
"""Decisions that a campaign has at hand: 3 MB. One that is open for longer is read again for each
of its windows, which takes as long as to fold it."""
MAX_STORED = 16_384
"""Numbers of decisions that are known to be in the log, twice: at most 3 MB."""
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
        self._stored: set[int] = set()
        self._stored_before: set[int] = set()

    def add(self, running: Running) -> Running:
        """Keep an outcome, unless the decision is at hand already; return the one that is kept."""
        known = self.find(running.number)
        if known is not None:
            return known
        self._by_number[running.number] = self._by_rank[running.rank] = running
        if len(self._by_number) > MAX_DECISIONS:
            number, oldest = self._by_number.popitem(last=False)
            del self._by_rank[oldest.rank]
            self.note_stored((number,))
        return running

    def note_stored(self, numbers: Iterable[int]) -> None:
        """Remember for a while that the log holds some decisions, which need not be at hand."""
        self._stored.update(numbers)
        if len(self._stored) > MAX_STORED:
            self._stored_before, self._stored = self._stored, set()

    def is_stored(self, number: int) -> bool:
        """Return whether the log is known to hold a decision; False: it may hold it."""
        return (
            number in self._by_number or number in self._stored or number in self._stored_before
        )

    def find(self, number: int) -> Running | None:
        """Return the outcome of a decision."""
        running = self._by_number.get(number)
        if running is not None:
            self._by_number.move_to_end(number)
        return running

    def at_rank(self, rank: int) -> Running | None:
        """Return the outcome of the decision of a round."""
        return self._by_rank.get(rank)
