"""Pauses between arrivals, and which of them are usual.

A pause is usual if it is at most twice the longest of late, so that rewards that come once a night
are not overdue every day.
"""

from __future__ import annotations

from collections.abc import Iterable

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
        self.came_all((now,))

    def came_all(self, arrivals: Iterable[int]) -> None:
        """Take note of arrivals, one after the other."""
        last, longest, before, since = self.last, self.longest, self.longest_before, self.since
        for now in arrivals:
            if last < 0:
                last = since = now
                continue
            pause = now - last
            longest = max(longest, pause)
            if pause > 0:
                last = now
            if now - since > LATELY * (max(before, longest)):
                longest, before, since = 0, longest, now
        self.last, self.longest, self.longest_before, self.since = last, longest, before, since

    def numbers(self) -> list[int]:
        """Return all that is known, in the order of `PAUSES`."""
        return [getattr(self, name) for name in PAUSES]

    def restore(self, numbers: list[int]) -> None:
        """Take what `numbers` returned."""
        for name, value in zip(PAUSES, numbers, strict=True):
            setattr(self, name, value)
