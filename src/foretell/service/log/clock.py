"""Log time: whole microseconds that never go back, never stand still, and never jump for long.

The wall clock says what time it is, the boot clock how much time has passed; a wrong reading of
the wall clock must neither stop windows from closing nor close them all. So log time goes on with
the boot clock, and follows the wall clock only forward: at once where the two differ by little,
and after a step only when the step has held for a minute. A wall clock beyond the end of log time
is wrong, and is never followed.
"""

from __future__ import annotations

import logging
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

from foretell.service.log.errors import LogClosed

logger = logging.getLogger("foretell.service")

SECOND = 1_000_000
TOLERANCE = SECOND
"""How far the wall clock may be ahead without it being a step."""
HOLD = 60 * SECOND
"""How long a step of the wall clock must hold before log time follows it."""
YEAR_2110 = 4_417_977_600 * SECOND
"""The end of log time: stamps beyond it would soon not fit into 64 bits."""


class Mark(NamedTuple):
    """A moment of log time, and what the boot clock read then: a log stores it with its head."""

    time: int = 0
    boot_id: str = ""
    boot_time: int = 0


class Clock:
    """The clock of a log, which in a test database runs `scale` times as fast as the machine's."""

    def __init__(
        self,
        mark: Mark | None = None,
        scale: float = 1.0,
        origin: int | None = None,
        skew: int = 0,
    ) -> None:
        """Go on after a mark; with a scale, time runs faster from `origin` on."""
        mark = mark or Mark()
        self.skew = skew
        """How far the wall clock of the log is ahead of this machine's: another's may count."""
        wall, self._boot = _wall_clock() + skew, _boot_clock()
        self.scale = scale
        self.origin = wall if origin is None else origin
        self.ahead_seconds = 0.0
        """How far the wall clock is ahead of log time, or behind if negative; 0 if it is close."""
        self._step: tuple[int, int] | None = None
        """How far the wall clock was ahead when its step was first seen, and when that was."""
        last = self._real_time(mark.time)
        if mark.boot_id and mark.boot_id == _boot_id():
            last += max(0, self._boot - mark.boot_time)
        elif not mark.time or self._log_time(wall) < YEAR_2110:
            if mark.time and wall - last > TOLERANCE:
                logger.info("log time goes on %.0f s later", (wall - last) / SECOND)
            last = max(last, wall)
        self._real = last
        """Log time as it would be at the speed of the machine's clock."""

    def now(self) -> int:
        """Return the time, in microseconds since 1970."""
        boot, wall = _boot_clock(), _wall_clock() + self.skew
        self._real += max(0, boot - self._boot)
        self._boot = max(boot, self._boot)
        step = wall - self._real
        if step > TOLERANCE:
            self._follow_if_held(wall, step)
        elif step >= (-TOLERANCE if self.ahead_seconds >= 0 else -TOLERANCE // 2):
            self._real = max(self._real, wall)
            self._step, self.ahead_seconds = None, 0.0
        else:
            self._go_on_alone(step)
        now = self._log_time(self._real)
        if now >= YEAR_2110:
            raise LogClosed("log time has reached the year 2110, its end: take another database")
        return now

    def skew_of(self, wall: int, began: int) -> int:
        """Return how far another's wall clock is ahead, read since the boot clock read `began`."""
        return wall - _wall_clock() + (_boot_clock() - began) // 2

    @staticmethod
    def boot_clock() -> int:
        """Return the machine's own time, which only passes."""
        return _boot_clock()

    def mark(self, time: int) -> Mark:
        """Return what to store, so that time goes on from a moment after a restart."""
        return Mark(time, _boot_id(), self._boot)

    def _follow_if_held(self, wall: int, step: int) -> None:
        """Follow a forward step of the wall clock once it has held long enough."""
        if self._step is None or abs(step - self._step[0]) > TOLERANCE:
            self._step = step, self._boot
            logger.warning(
                "the clock went %.1f s ahead: if it stays there, log time follows in a minute",
                step / SECOND,
            )
        self.ahead_seconds = step / SECOND
        if self._boot - self._step[1] >= HOLD and self._log_time(wall) < YEAR_2110:
            logger.warning("log time follows the clock %.1f s ahead", self.ahead_seconds)
            self._real, self._step, self.ahead_seconds = wall, None, 0.0

    def _go_on_alone(self, step: int) -> None:
        """Go on without a wall clock that is behind, and say so once."""
        if self.ahead_seconds >= 0:
            logger.warning(
                "the clock is %.1f s behind log time, which goes on without it", -step / SECOND
            )
        self._step, self.ahead_seconds = None, step / SECOND

    def _log_time(self, real: int) -> int:
        return real if self.scale == 1.0 else self.origin + round((real - self.origin) * self.scale)

    def _real_time(self, log_time: int) -> int:
        """Return the earliest machine time whose log time is not below this one."""
        if self.scale == 1.0 or log_time <= self.origin:
            return log_time
        return self.origin + int((log_time - self.origin) / self.scale) + 1


class ToldClock(Clock):
    """The clock of a past that is played: it stands at the time that it is told, until now."""

    def __init__(self, scale: float) -> None:
        """Begin at the origin of a test database that runs so many times as fast."""
        super().__init__(scale=scale)
        self.time = self.origin
        """What it is told."""

    def now(self) -> int:
        """Return the time that it was told, but none that is still to come."""
        return min(self.time, self.real_now())

    def real_now(self) -> int:
        """Return the time to which the log's own clock has come."""
        return super().now()


def _wall_clock() -> int:
    return time.time_ns() // 1000


def _boot_clock() -> int:
    """Return a time that only passes, also while a laptop sleeps where the system can tell."""
    return (
        time.clock_gettime_ns(_BOOT_CLOCK) // 1000 if _BOOT_CLOCK else time.monotonic_ns() // 1000
    )


_BOOT_CLOCK: int | None = getattr(time, "CLOCK_BOOTTIME", None)


@cache
def _boot_id() -> str:
    """Return a name of this boot of the machine; empty where the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
