"""What all pages have in common: the engine, pages that were just made, and work under way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic

from foretell.service.engine import Engine
from foretell.service.http import Limits, Metrics
from foretell.service.ui.stream import LogPulse

KEPT_SECONDS = 2.0
"""For how long a page that was made is shown to whoever asks for the same."""
KEPT_SHARE, MOST_SECONDS = 4.0, 6.0
"""A page that takes long to make is kept for so many times as long, up to so many seconds."""


class Site:
    """The dashboard of one server."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        metrics: Metrics,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        """Show an engine; `stopping` says when streams are to end."""
        self.engine = engine
        self.limits = limits
        self.metrics = metrics
        self.pulse = LogPulse(engine, stopping)
        self.refits: dict[str, asyncio.Task[object]] = {}
        """For each campaign, the change under way that refits it, or the last one that failed."""
        self._made: dict[Hashable, tuple[float, asyncio.Task[str]]] = {}
        """Pages by what they show, each with the time until which it is kept."""

    async def kept(self, what: Hashable, make: Callable[[], Awaitable[str]]) -> str:
        """Return a page, made now or a moment ago: a hundred readers cost as much as one."""
        until, task = self._made.get(what, (0.0, None))
        if task is None or (task.done() and monotonic() >= until):
            task = asyncio.create_task(self._make(what, make))
            self._made[what] = monotonic(), task
        return await asyncio.shield(task)

    async def _make(self, what: Hashable, make: Callable[[], Awaitable[str]]) -> str:
        began = monotonic()
        page = await make()
        took = monotonic() - began
        until = monotonic() + min(max(KEPT_SECONDS, KEPT_SHARE * took), MOST_SECONDS)
        self._made = {one: kept for one, kept in self._made.items() if kept[0] > began - 60.0}
        self._made[what] = until, self._made[what][1]
        return page

    def forget(self) -> None:
        """Make every page again: something was changed."""
        self._made.clear()
