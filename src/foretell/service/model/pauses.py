"""Pauses between arrivals, and which of them are usual.

A pause is usual if it is at most twice the longest of late, so that rewards that come once a night
are not overdue every day.
"""

from __future__ import annotations

USUAL = 2
"""A pause is usual up to so many times the longest of late."""
LATELY = 20
"""So many longest pauses ago is not of late."""
PAUSES = ("last", "longest", "longest_before", "since")
"""The numbers of `Pauses`, in order."""


class Pauses:
    """The pauses between arrivals of one kind, in microseconds."""

    def __init__(self) -> None:
        """Begin before the first arrival."""
        self.last = -1
        """When the last one came; −1: never."""
        self.longest = self.longest_before = 0
        """The longest pause since `since`, and before."""
        self.since = -1

    @property
    def usual(self) -> int:
        """The longest pause that is nothing to speak of."""
        return USUAL * max(self.longest, self.longest_before)

    def came(self, now: int) -> None:
        """Take note of an arrival."""
        if self.last < 0:
            self.last = self.since = now
            return
        self.longest = max(self.longest, now - self.last)
        self.last = max(self.last, now)
        if now - self.since > LATELY * max(self.longest, self.longest_before):
            self.longest, self.longest_before, self.since = 0, self.longest, now

    def numbers(self) -> list[int]:
        """Return all that is known, in the order of `PAUSES`."""
        return [getattr(self, name) for name in PAUSES]

    def restore(self, numbers: list[int]) -> None:
        """Take what `numbers` returned."""
        for name, value in zip(PAUSES, numbers, strict=True):
            setattr(self, name, value)
