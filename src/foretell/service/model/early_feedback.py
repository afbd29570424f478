"""Feedback that comes while the first window of its decision is open: it only counts.

Nothing of such a decision is delivered to any policy yet, so it need not even be read.
"""

from __future__ import annotations

from collections.abc import Sequence

from foretell.service.model.decision_cache import RecentNumbers
from foretell.service.model.events import OBSERVED, Feedback, Record, moment
from foretell.service.model.outcome import Rules


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

    def must_be_read(self, numbers: set[int], passed: int) -> set[int]:
        """Return those of some decisions that must be at hand.

        Of the others, the log surely holds each, and its first window is open.
        """
        if not self._applies:
            return numbers
        found = self.stored.lacking(numbers)
        if min(numbers, default=passed + 1) <= passed:
            found |= {number for number in numbers if number <= passed}
        return found

    def only_count(self, records: Sequence[Record], passed: int, parked: int) -> bool:
        """Return whether records are feedback that changes nothing else.

        What is parked may correct a reward.
        """
        stages = self._last if parked else self._last + 1
        for seq, _, decision, event in records:
            if not isinstance(event, Feedback) or event.verb_index != OBSERVED:
                return False
            if event.stage >= stages or decision >= seq:
                return False
        return not self.must_be_read({record.decision for record in records}, passed)

    def take(self, records: Sequence[Record]) -> tuple[list[int], list[int], int]:
        """Take note of feedback that only counts.

        Returns when signals came, when rewards did, and how much of all is late. Windows close in
        the order of decisions: if those of the first are open after the last record, all are.
        """
        came: tuple[list[int], list[int]] = [], []
        rewarded: list[int] = []
        for seq, _, decision, event in records:
            last = event.stage == self._last  # type: ignore[union-attr]
            came[last].append(moment(seq))
            if last:
                rewarded.append(decision)
        self.rewarded.add(rewarded)
        late, first = 0, min([record.decision for record in records])
        if records[-1].recorded_at >= min(self._rules.dues(moment(first))):
            for seq, _, decision, event in records:
                due = self._rules.due(event.stage, moment(decision))  # type: ignore[union-attr]
                late += moment(seq) >= due
        return *came, late
