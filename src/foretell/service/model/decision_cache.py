"""The decisions that a campaign has at hand, each with its outcome so far.

While the first window of a decision is open, it need not be at hand: nothing of it is settled, and
what comes only counts. The log must hold it, and it is read when its window closes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from foretell.errors import InvalidInput
from foretell.service.model.events import OBSERVED, Feedback, Record, moment
from foretell.service.model.outcome import Rules
from foretell.service.model.running import Running

MAX_DECISIONS = 4096
"""Decisions that a campaign has at hand: 3 MB. One that is open for longer is read again for each
of its windows, which takes as long as to fold it."""
MOST_RECENT = 16_384
"""Numbers of decisions that are kept at least: twice as many at most, which take 3 MB."""
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
        if (known := self.find(running.number)) is not None:
            return known
        self._by_number[running.number] = self._by_rank[running.rank] = running
        if len(self._by_number) > MAX_DECISIONS:
            number, oldest = self._by_number.popitem(last=False)
            del self._by_rank[oldest.rank]
            self._evicted((number,))
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

    def __contains__(self, number: int) -> bool:
        """Return whether a number was added lately."""
        return number in self._new or number in self._old


class EarlyFeedback:
    """Which feedback changes nothing but how many signals and rewards have come."""

    def __init__(self, rules: Rules, *, corrects: bool) -> None:
        """Follow the rules of a campaign, which may correct for the silence of rewards."""
        self._rules, self._last = rules, len(rules.stages) - 1
        self._applies = rules.stages[0].waits and not corrects
        self.stored = RecentNumbers()
        """Decisions that the log is known to hold."""
        self.rewarded = RecentNumbers()
        """Decisions with a reward that was taken in without reading them."""

    def holds(self, number: int, passed: int) -> bool:
        """Return whether the log surely holds a decision whose first window is open."""
        return self._applies and passed < number and number in self.stored

    def only_counts(self, record: Record, event: Feedback, passed: int, parked: int) -> bool:
        """Return whether feedback changes nothing else; what is parked may correct a reward."""
        seen = event.verb_index == OBSERVED and (event.stage < self._last or not parked)
        return seen and record.decision < record.seq and self.holds(record.decision, passed)

    def take(self, record: Record, event: Feedback) -> bool:
        """Take note of feedback that only counts; return whether it came after its window."""
        if event.stage == self._last:
            self.rewarded.add((record.decision,))
        return record.recorded_at >= self._rules.due(event.stage, moment(record.decision))
