"""Watches an open database: does its disk answer, and are its files where they were?

Every commit looks at the name of the database before its answer is given; what is here looks while
nothing is committed too, and at what a commit that never ends cannot say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from time import monotonic
from typing import Protocol

from foretell.service.log.errors import LogClosed
from foretell.service.log.sqlite.names import Names
from foretell.service.log.sqlite.writer import Job

LOOK_SECONDS = 0.5
"""Seconds between two looks."""
STALL_SECONDS = 10.0
"""Seconds that a commit may take before everything is refused until it is done."""


class Watched(Protocol):
    """What is watched, and is told of what is found."""

    closed: str | None

    @property
    def jobs(self) -> Collection[Job]:
        """All that is not durable yet, in order."""

    @property
    def names(self) -> Names:
        """The names of the files, as they were opened."""

    def stall(self, seconds: float) -> None:
        """Refuse everything until the commit is done that has taken so long."""

    def fail(self, error: Exception) -> None:
        """Close the log until it can be opened again."""


class Watch:
    """Two tasks in the event loop, neither of which waits for the disk there."""

    def __init__(self, watched: Watched) -> None:
        """Begin to watch."""
        self._watched = watched
        self._tasks = [
            asyncio.create_task(self._watch_disk()),
            asyncio.create_task(self._watch_names()),
        ]

    async def stop(self) -> None:
        """Watch no longer."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _watch_disk(self) -> None:
        """Notice when the oldest job stays the same for too long."""
        oldest, since = None, 0.0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            found = next(iter(self._watched.jobs), None)
            if found is not oldest:
                oldest, since = found, monotonic()
            elif found is not None and monotonic() - since >= STALL_SECONDS:
                self._watched.stall(monotonic() - since)

    async def _watch_names(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            names = self._watched.names
            if self._watched.closed is None:
                try:
                    await asyncio.to_thread(names.check)
                except (LogClosed, OSError) as error:
                    if names is self._watched.names:
                        self._watched.fail(error)
