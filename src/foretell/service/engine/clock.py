"""The server's time: whole microseconds that never go back."""

from __future__ import annotations

import time


class Clock:
    """The time, which a test may let run at `scale` times the speed of the machine's clock."""

    def __init__(self, last: int = 0, scale: float = 1.0, origin: int | None = None) -> None:
        """Go on after `last`; with a scale, time runs faster from `origin` on."""
        self.last = last
        self.scale = scale
        self.origin = _wall_clock() if origin is None else origin

    def now(self) -> int:
        """Return the time; if the machine's clock goes back, the last time until it catches up."""
        now = _wall_clock()
        if self.scale != 1.0:
            now = self.origin + round((now - self.origin) * self.scale)
        self.last = max(self.last, now)
        return self.last


def _wall_clock() -> int:
    return time.time_ns() // 1000
