"""The feedback of one run: what is to be sent after which round, or from which moment on."""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from foretell.protocol import FeedbackItem
from foretell.traffic.faults import Faults, copy_delay

_Entry = tuple[float, int, FeedbackItem]
"""A round or a moment, the order of arrival, and the event that waits for it."""


class FeedbackQueue:
    """Events that wait for a round or for a moment of the server; of some there are two copies."""

    def __init__(self, faults: Faults, chance: np.random.Generator) -> None:
        """Start empty; `chance` draws the copies and the order."""
        self._faults = faults
        self._chance = chance
        self._rounds: list[_Entry] = []
        self._moments: list[_Entry] = []
        self._order = itertools.count()

    def after_round(self, t: int, event: FeedbackItem) -> None:
        """Send an event after round t."""
        heapq.heappush(self._rounds, (t, next(self._order), event))
        if self._faults.twice(self._chance):
            again = t + copy_delay(self._chance)
            heapq.heappush(self._rounds, (again, next(self._order), event))

    def after_moment(self, moment: float, event: FeedbackItem) -> None:
        """Send an event once the server's clock has passed a moment."""
        heapq.heappush(self._moments, (moment, next(self._order), event))

    def due(self, t: int, now: float) -> list[FeedbackItem]:
        """Take out what is sent after round t, which was decided at `now`, in any order."""
        taken: list[FeedbackItem] = []
        for waiting, limit in ((self._rounds, t), (self._moments, now)):
            while waiting and waiting[0][0] <= limit:
                taken.append(heapq.heappop(waiting)[2])
        return [taken[index] for index in self._chance.permutation(len(taken))]
