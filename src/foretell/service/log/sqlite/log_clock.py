"""The clock of the log in a database, and its speed, which a test database may set once."""

from __future__ import annotations

from foretell.errors import InvalidInput
from foretell.service.log.clock import Clock
from foretell.service.log.errors import LogClosed
from foretell.service.log.sqlite.connections import Connections
from foretell.service.log.sqlite.rows import read_settings, write_settings


def clock_of(connections: Connections, path: str, scale: float | None, told: Clock | None) -> Clock:
    """Return the clock of a log, which goes on after its head at the log's own speed.

    A new log may be `told` the time by another clock: its past is being played.
    """
    writer, stream = connections.writer, connections.stream
    settings = read_settings(writer)
    marked = settings.get("time_scale")
    if scale is not None and marked is None and stream.head > 0:
        raise InvalidInput(
            f"{path!r} runs at the speed of the clock: time_scale needs a database of its own"
        )
    if scale is not None and marked is not None and scale != marked:
        raise InvalidInput(
            f"{path!r} runs at {marked:g} times the speed of the clock, got {scale:g}: "
            f"leave time_scale out, or take another database"
        )
    if told is not None:
        if stream.head > 0:
            raise InvalidInput(f"{path!r} has a past already: take another database")
        write_settings(writer, time_scale=float(told.scale), time_origin=told.origin)
        return told
    clock = Clock(stream.mark, scale or marked or 1.0, settings.get("time_origin"))
    if scale is not None and marked is None:
        write_settings(writer, time_scale=float(scale), time_origin=clock.origin)
    try:
        clock.now()
    except LogClosed as error:
        raise InvalidInput(f"{path!r} cannot be used: {error}") from None
    return clock
