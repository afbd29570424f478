"""What all pages have in common: the engine, and the pages that were just made."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Hashable
from time import monotonic, process_time
from typing import NamedTuple

from foretell.pages import render
from foretell.service.engine import Engine
from foretell.service.http import Limits, Metrics
from foretell.service.ui.banners import banners
from foretell.service.ui.stream import LogPulse

KEPT_SECONDS = 2.0
"""For how long a page that was made is shown to whoever asks for the same."""
KEPT_SHARE, MOST_SECONDS = 150.0, 20.0
"""A page is kept for so many times the CPU that it took, up to so many seconds: so less than a
hundredth of the time goes into it, and 99 in 100 of those who ask for decisions do not feel it."""
PACKING = 3
"""How hard a page is packed: it is sent to many, and made once."""


class MadePage(NamedTuple):
    """What a page shows, the same for everybody who may see it."""

    main: str
    packed: bytes
    """The parts of it that an open page takes over, compressed; nothing secret is in it."""


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
        self._made: dict[Hashable, tuple[float, asyncio.Task[MadePage]]] = {}
        """Pages by what they show, each with the time until which it is kept."""

    async def kept(self, what: Hashable, make: Callable[[], Awaitable[str]]) -> MadePage:
        """Return a page, made now or a moment ago: a hundred readers cost as much as one."""
        what = (what, self.engine.runtime.closed)
        until, task = self._made.get(what, (0.0, None))
        if task is None or (task.done() and monotonic() >= until):
            task = asyncio.create_task(self._make(what, make))
            self._made[what] = monotonic(), task
        return await asyncio.shield(task)

    async def _make(self, what: Hashable, make: Callable[[], Awaitable[str]]) -> MadePage:
        began, before = monotonic(), process_time()
        main, head = await make(), render("banners.html", banners=banners(self.engine))
        packed = await asyncio.to_thread(gzip.compress, (head + main).encode(), PACKING)
        page = MadePage(main, packed)
        took = process_time() - before
        until = monotonic() + min(max(KEPT_SECONDS, KEPT_SHARE * took), MOST_SECONDS)
        self._made = {one: kept for one, kept in self._made.items() if kept[0] > began - 60.0}
        self._made[what] = until, self._made[what][1]
        return page

    def forget(self) -> None:
        """Make every page again: something was changed."""
        self._made.clear()
