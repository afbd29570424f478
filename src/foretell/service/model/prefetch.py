"""Prefetch: the decisions of a campaign, read ahead in the order of rounds, a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from foretell.service.model.outcome import DecisionRecords

Load = Callable[[int, int], Iterable[DecisionRecords]]
"""Returns so many decisions from a round on, in order, each with its records: fewer at the end."""
MIN_COUNT, MAX_COUNT = 2, 256


class Prefetch:
    """The next decisions, loaded when they are needed."""

    def __init__(self, load: Load) -> None:
        """Read with `load`."""
        self._load = load
        self._ready: deque[DecisionRecords] = deque()
        self._count = MIN_COUNT

    def decision(self, t: int) -> DecisionRecords:
        """Return the decision of a round; rounds are asked for in order."""
        while self._ready and self._ready[0].decided.round < t:
            self._ready.popleft()
        if not self._ready:
            self._ready.extend(self._load(t, self._count))
            self._count = min(MAX_COUNT, 2 * self._count)
        return self._ready[0]
