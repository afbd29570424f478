"""The reward of one decision: the sum of its rewards after their corrections, in any order."""

from __future__ import annotations

import math
from typing import NamedTuple

from foretell.service.model.events import ADJUST, OBSERVED, Feedback, Record
from foretell.service.model.outcome import correction_order

_UNIT = 1 << 1074
"""The smallest positive number is one part in so many: in such parts every number is whole."""


class RewardTotal:
    """The sum of rewards after their corrections, exact in any order."""

    __slots__ = ("_corrections", "_left", "_sum", "_values", "_waiting", "total", "unmatched")

    def __init__(self) -> None:
        """Begin without rewards."""
        self._values: dict[str, float] = {}
        self._corrections: dict[str, tuple[tuple[int, str], float]] = {}
        self._waiting: dict[str, int] = {}
        self._sum = 0
        self._left = 0
        self.total: float | None = None
        """The sum; None where no reward is left."""
        self.unmatched = 0
        """Corrections whose reward has not come."""

    def add(self, record: Record) -> None:
        """Count a reward or a correction."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is a reward)
        if event.verb_index == OBSERVED:
            self._values[event.event_id] = event.value
            corrected = self._corrections.get(event.event_id)
            self._count(event.value if corrected is None else corrected[1], 1)
            self.unmatched -= self._waiting.pop(event.event_id, 0)
        elif event.target is not None:
            self._correct(event.target, record, event)

    def _correct(self, target: str, record: Record, event: Feedback) -> None:
        known = self._corrections.get(target)
        order = correction_order(record)
        here = target in self._values
        if known is None or order > known[0]:
            value = event.value if event.verb_index == ADJUST else math.nan
            if here:
                self._count(self._values[target] if known is None else known[1], -1)
                self._count(value, 1)
            self._corrections[target] = order, value
        if not here:
            self._waiting[target] = self._waiting.get(target, 0) + 1
            self.unmatched += 1

    def total_with(self, record: Record) -> float | None:
        """Return what the sum is with a record, which it may count already."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is a reward)
        if event.verb_index == OBSERVED:
            known = self._corrections.get(event.event_id)
            if event.event_id in self._values:
                return self.total
            return self._changed(math.nan, event.value if known is None else known[1])
        known = self._corrections.get(event.target or "")
        if event.target not in self._values or (known and correction_order(record) <= known[0]):
            return self.total
        before = self._values[event.target] if known is None else known[1]
        return self._changed(before, event.value if event.verb_index == ADJUST else math.nan)

    def _changed(self, before: float, after: float) -> float | None:
        """Return what the sum is with one value in place of another; NaN: there is none."""
        left = self._left - (not math.isnan(before)) + (not math.isnan(after))
        return (self._sum - _units(before) + _units(after)) / _UNIT if left else None

    def _count(self, value: float, sign: int) -> None:
        if not math.isnan(value):
            self._sum += sign * _units(value)
            self._left += sign
            self.total = self._sum / _UNIT if self._left else None


def _units(value: float) -> int:
    """Return a value as a whole number of the smallest units, exactly; NaN, which is none, as 0."""
    if math.isnan(value):
        return 0
    over, under = value.as_integer_ratio()
    return over * (_UNIT // under)


class NoRewards(NamedTuple):
    """The rewards of every decision to which none has come."""

    total: float | None = None
    unmatched: int = 0

    def total_with(self, record: Record) -> float | None:
        """Return what the sum is with a record: a correction finds nothing to change."""
        event = record.event
        assert isinstance(event, Feedback)  # noqa: S101  (only feedback is a reward)
        return event.value if event.verb_index == OBSERVED else None


NO_REWARDS = NoRewards()
"""That of every decision to which none has come: it never changes, so that all share it."""
