"""What a policy is told while records are folded: at once, or many things at a time, compiled.

Compiled code is told of hundreds in the time that plain Python needs for one, but to call it takes
as long as a few. So where it is at hand, what is to be told waits until somebody looks at the
state, or until there is much of it. The state comes to the same bytes either way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from foretell.evaluation.reading import CREDITED, OBSERVED, PLAYED, Reader, Reading
from foretell.policies.state import learning_view
from foretell.policies.verbs import credit, elapse, observe, play

MOST_WAITING = 256
"""Things that wait to be told at most."""
FEW = 3
"""So few are told in plain Python: that takes less time than to call compiled code."""


class LearningQueue:
    """The state of a policy, and what it is still to be told."""

    def __init__(self, state: Any) -> None:
        """Begin with nothing to tell."""
        self.state = state
        """Look at it, or at its view, after `tell` only."""
        self.view = learning_view(state)
        """The same memory, as verbs that learn read it fastest."""
        self.reader: Reader | None = None
        """What tells many things at a time; without it each is told at once."""
        verbs = (play, elapse, observe, credit)
        self._play, self._elapse, self._observe, self._credit = (
            verb.dispatch(type(state)) for verb in verbs
        )  # of every record: to find them takes as long as some of them take
        self._waiting: list[tuple[int, int, int, int, float, int]] = []

    def play(self, t: int, action: int, tick: int) -> None:
        """Tell of a decision, and that time has moved on."""
        if self.reader is None:
            self._play(self.view, t, action)
            self._elapse(self.view, tick)
        else:
            self._wait((t, action, tick, 0, 0.0, PLAYED))

    def observe(self, t: int, action: int, signal: int) -> None:
        """Tell of a signal."""
        if self.reader is None:
            self._observe(self.view, t, action, signal)
        else:
            self._wait((t, action, 0, signal, 0.0, OBSERVED))

    def credit(self, t: int, action: int, signal: int, reward: float) -> None:
        """Tell of a reward."""
        if self.reader is None:
            self._credit(self.view, t, action, signal, reward)
        else:
            self._wait((t, action, 0, signal, reward, CREDITED))

    def _wait(self, what: tuple[int, int, int, int, float, int]) -> None:
        self._waiting.append(what)
        if len(self._waiting) >= MOST_WAITING:
            self.tell()

    def tell(self) -> None:
        """Tell all that waits."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        if self.reader is not None and len(waiting) > FEW:
            columns = zip(*waiting, strict=True)
            self.reader(self.state, Reading(*map(np.array, columns)))
            return
        for t, action, tick, signal, reward, verb in waiting:
            if verb == PLAYED:
                self._play(self.view, t, action)
                self._elapse(self.view, tick)
            elif verb == OBSERVED:
                self._observe(self.view, t, action, signal)
            else:
                self._credit(self.view, t, action, signal, reward)
