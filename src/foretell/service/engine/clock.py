"""The server's time: whole microseconds that never go back."""

from __future__ import annotations

import time


class Clock:
    """Return the time, at `scale` times the speed of the machine's clock for tests."""

    def __init__(self, last: int = 0, scale: float = 1.0, origin: int | None = None) -> None:
        """Go on after `last`; with a scale, time runs faster from `origin` on."""
        self.last = last
        self.scale = scale
        self.origin = _machine() if origin is None else origin

    def now(self) -> int:
        """Return the time; a clock that goes back stands still until it has caught up."""
        now = _machine()
        if self.scale != 1.0:
            now = self.origin + round((now - self.origin) * self.scale)
        self.last = max(self.last, now)
        return self.last


def _machine() -> int:
    return time.time_ns() // 1000
