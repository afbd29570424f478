"""The feedback of one run: what is to be sent after which round, or from which moment on."""

from __future__ import annotations

import heapq
import itertools

import numpy as np

from foretell.traffic.faults import Faults, echo
from foretell.traffic.service import Event

_Slip = tuple[float, int, Event]


class Mail:
    """Events that wait for a round or for a moment of the server; some are kept in two copies."""

    def __init__(self, faults: Faults, chance: np.random.Generator) -> None:
        """Start empty; `chance` draws the copies and the order."""
        self._faults = faults
        self._chance = chance
        self._rounds: list[_Slip] = []
        self._moments: list[_Slip] = []
        self._order = itertools.count()

    def after_round(self, t: int, event: Event) -> None:
        """Let an event go out after round t."""
        heapq.heappush(self._rounds, (t, next(self._order), event))
        if self._faults.twice(self._chance):
            again = t + echo(self._chance)
            heapq.heappush(self._rounds, (again, next(self._order), event))

    def from_moment(self, moment: float, event: Event) -> None:
        """Let an event go out once the server's clock has passed a moment."""
        heapq.heappush(self._moments, (moment, next(self._order), event))

    def due(self, t: int, now: float) -> list[Event]:
        """Take out what goes out after round t, made at the moment `now`, in any order."""
        taken: list[Event] = []
        for waiting, limit in ((self._rounds, t), (self._moments, now)):
            while waiting and waiting[0][0] <= limit:
                taken.append(heapq.heappop(waiting)[2])
        return [taken[place] for place in self._chance.permutation(len(taken))]
