"""The numbers of decisions of which something was found out lately: a bounded number of them."""

from __future__ import annotations

from collections.abc import Iterable

MOST_RECENT = 16_384
"""Numbers that are kept at least, if there were so many, and half of those at most: 3 MB."""


class RecentNumbers:
    """Numbers that were added lately; the oldest half is forgotten at a time."""

    def __init__(self) -> None:
        """Begin without numbers."""
        self._new: set[int] = set()
        self._old: set[int] = set()

    def add(self, numbers: Iterable[int]) -> None:
        """Add numbers."""
        self._new.update(numbers)
        if len(self._new) >= MOST_RECENT:
            self._old, self._new = self._new, set()

    def __contains__(self, number: int) -> bool:
        """Return whether a number was added lately."""
        return number in self._new or number in self._old
