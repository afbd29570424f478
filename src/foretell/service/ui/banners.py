"""What every page says first: a test clock, a log that is closed, a clock that is wrong."""

from __future__ import annotations

from foretell.service.engine import Engine
from foretell.service.model.events import moment
from foretell.service.reports.words import day_and_time, span

CLOCK_SECONDS = 1.0
"""By so much the wall clock may differ from log time before it is said."""


def banners(engine: Engine, *, shows: bool) -> list[tuple[str, str, str]]:
    """Return what is to be said on every page: its kind, its first words, and the rest.

    `shows` is whether the page shows what is known of campaigns, or of the service.
    """
    found = []
    health, now = engine.health(), moment(engine.runtime.log.head())
    if health.status != "ok":
        found.append(
            (
                "bad closed",
                "The log is closed.",
                f"Nothing is decided and nothing is taken in: {health.detail}."
                + " What is shown is what was known before." * shows,
            )
        )
    if engine.time_scale != 1.0:
        found.append(
            (
                "open",
                "Test clock.",
                (
                    f"This database runs {engine.time_scale:,.0f} times as fast as real time; "
                    f"it is now {day_and_time(now)} there. Nothing here is real traffic."
                ),
            )
        )
    seconds_off = health.clock_ahead_seconds
    if abs(seconds_off) >= CLOCK_SECONDS:
        where = "ahead of" if seconds_off > 0 else "behind"
        found.append(
            (
                "open",
                "The clock differs.",
                (
                    f"This machine's clock is {span(abs(seconds_off))} {where} the log's time, "
                    f"which goes on at its own pace: check the clock of the machine."
                ),
            )
        )
    return found
