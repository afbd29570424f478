"""How often a key may sign in: each sign-in is a record of the log, which is kept for ever."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from time import monotonic

MOST_SIGN_INS = 20
"""Sign-ins of one key within the time below: 429 over it."""
SIGN_IN_SECONDS = 60


class SignIns:
    """The latest sign-ins, as this process has seen them."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Begin without sign-ins; `clock` says when they were."""
        self._clock = clock
        self._latest: deque[tuple[float, str]] = deque()
        self._of_key: Counter[str] = Counter()

    def __len__(self) -> int:
        """Count those that are remembered."""
        return len(self._latest)

    def take(self, key: str) -> bool:
        """Return whether a key, by its id, may sign in now, and count it if so."""
        now = self._clock()
        while self._latest and self._latest[0][0] <= now - SIGN_IN_SECONDS:
            _, gone = self._latest.popleft()
            self._of_key[gone] -= 1
            if not self._of_key[gone]:
                del self._of_key[gone]
        if self._of_key[key] >= MOST_SIGN_INS:
            return False
        self._latest.append((now, key))
        self._of_key[key] += 1
        return True
