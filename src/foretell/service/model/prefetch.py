"""Decisions of a campaign, read ahead in the order of rounds, a few at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from foretell.service.model.outcome import DecisionRecords

Load = Callable[[int, int], Iterable[DecisionRecords]]
"""Return so many decisions from a round on, in order, each with its records: fewer at the end."""
FEWEST, MOST = 2, 256


class Prefetch:
    """The next decisions, loaded when they are asked for."""

    def __init__(self, load: Load) -> None:
        """Read with `load`."""
        self._load = load
        self._ready: deque[DecisionRecords] = deque()
        self._count = FEWEST

    def at(self, index: int) -> DecisionRecords:
        """Return the decision of a round; rounds are asked for in order."""
        while self._ready and self._ready[0].decided.round < index:
            self._ready.popleft()
        if not self._ready:
            self._ready.extend(self._load(index, self._count))
            self._count = min(MOST, 2 * self._count)
        return self._ready[0]
