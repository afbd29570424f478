"""Naive twins of the pending wheel and of the window over arrived rewards."""

from __future__ import annotations


class NaivePending:
    """Rewards on their way, in a list."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, int, int, int, float]] = []

    def add(self, due: int, t: int, action: int, signal: int, reward: float) -> None:
        self.waiting.append((due, t, action, signal, reward))

    def take(self, now: int) -> list[tuple[int, int, int, float]]:
        taken = sorted(one[1:] for one in self.waiting if one[0] == now)
        self.waiting = [one for one in self.waiting if one[0] != now]
        return taken


class NaiveLatest:
    """The W latest rounds of a set, sorted again each time."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.held: dict[int, tuple[int, int]] = {}

    def add(self, t: int, action: int, grains: int) -> tuple[bool, tuple[int, int] | None]:
        """Return whether round t is held now, and what was pushed out."""
        everything = {**self.held, t: (action, grains)}
        if len(everything) <= self.window:
            self.held = everything
            return True, None
        oldest = min(everything)
        gone = everything.pop(oldest)
        self.held = everything
        return oldest != t, None if oldest == t else gone

    def drop_before(self, oldest: int) -> tuple[int, int] | None:
        return self.held.pop(oldest - 1, None)
