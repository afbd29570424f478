"""The clock of the log: that of the database server, for all deciders.

A decider asks the server for its time with every beat, and goes on with its own clock in between.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from foretell.errors import InvalidInput
from foretell.service.database_address import without_password as shown
from foretell.service.log.clock import SECOND, Clock, Mark
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.settings import write_settings
from foretell.service.model.events import moment

WALL_CLOCK = "(extract(epoch FROM clock_timestamp()) * 1e6)::bigint"
"""The wall clock of the server, in microseconds."""
MOST_SKEW = 5 * SECOND
"""How far the clocks of a decider and of the server may be apart."""
SAMPLE_SECONDS = 10.0
"""Seconds for which the sample with the quickest answer counts."""


class ServerClock:
    """Log time by the clock of the server."""

    def __init__(self, clock: Clock, *, local: bool) -> None:
        """Correct a clock; `local` is for a test database, whose deciders bring the time."""
        self.clock = clock
        self.wrong: str | None = None
        """Why this machine must not write: its clock is too far from the server's."""
        self._local = local
        self._quickest = 0
        self._sampled = -SAMPLE_SECONDS

    def note(self, wall: int, began: int) -> None:
        """Take note of the server's wall clock, asked for when the boot clock read `began`."""
        if self._local:
            return
        took, now = self.clock.boot_clock() - began, monotonic()
        skew = self.clock.skew_of(wall, began)
        if took <= self._quickest or now - self._sampled > SAMPLE_SECONDS:
            self._quickest, self._sampled, self.clock.skew = took, now, skew
        apart = abs(skew) - took
        self.wrong = None
        if apart > MOST_SKEW:
            side = "behind" if skew > 0 else "ahead of"
            self.wrong = (
                f"the clock of this machine is {apart / SECOND:.0f} s {side} that of the "
                f"database server: set it"
            )


async def clock_of(
    connection: Any, settings: dict[str, Any], dsn: str, scale: float | None
) -> ServerClock:
    """Return the clock of a log, which goes on after its heads at the log's own speed."""
    marked = settings.get("time_scale")
    highest = await connection.fetchval("SELECT max(head) FROM foretell.streams") or 0
    if scale is not None and marked is None and highest > 0:
        raise InvalidInput(
            f"the log in {shown(dsn)} runs at the speed of the clock: time_scale needs a "
            f"database of its own"
        )
    if scale is not None and marked is not None and scale != marked:
        raise InvalidInput(
            f"the log in {shown(dsn)} runs at {marked:g} times the speed of the clock, "
            f"got {scale:g}: leave time_scale out, or take another database"
        )
    local = settings.get("clock") == "deciders"
    skew = 0 if local else await _skew(connection)
    mark = Mark(moment(highest)) if highest else Mark()
    clock = Clock(mark, scale or marked or 1.0, settings.get("time_origin"), skew)
    if scale is not None and marked is None:
        await write_settings(connection, time_scale=float(scale), time_origin=clock.origin)
    try:
        clock.now()
    except LogClosed as error:
        raise InvalidInput(f"the log in {shown(dsn)} cannot be used: {error}") from None
    return ServerClock(clock, local=local)


async def _skew(connection: Any) -> int:
    """Return how far the server's clock is ahead, by the quickest of some answers."""
    samples = []
    clock = Clock()
    for _ in range(3):
        began = clock.boot_clock()
        wall = await connection.fetchval(f"SELECT {WALL_CLOCK}")
        samples.append((clock.boot_clock() - began, clock.skew_of(wall, began)))
    return min(samples)[1]
