"""What all pages have in common: the engine, and the pages that were just made."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable, Hashable
from random import random
from time import monotonic, process_time
from typing import NamedTuple

from foretell.pages import render
from foretell.service.engine import Engine
from foretell.service.engine.turns import in_thread
from foretell.service.http import Limits, Metrics, SignIns
from foretell.service.ui.banners import banners
from foretell.service.ui.stream import LogPulse

KEPT_SECONDS = 2.0
"""For how long a page that was made is shown to whoever asks for the same."""
KEPT_SHARE, MOST_SECONDS = 150.0, 30.0
"""A page is kept for so many times the CPU that it took, up to so many seconds: so less than a
hundredth of the time goes into it, and 99 in 100 of those who ask for decisions do not feel it."""
SPREAD = 0.5
"""Open pages come back within this part of the time for which a page is kept, and not at once."""
PACKING = 3
"""How hard a page is packed: it is sent to many, and made once."""


class MadePage(NamedTuple):
    """What a page shows, the same for everybody who may see it."""

    main: str
    packed: bytes
    """The parts of it that an open page takes over, compressed; nothing secret is in it."""
    seconds: float
    """For how long it is kept."""
    until: float
    """Until when, by the monotonic clock."""

    def read_again_after(self) -> float:
        """Return after how many seconds an open page is to read itself again: not all at once."""
        spread = SPREAD * self.seconds * random()  # noqa: S311  (not for secrets)
        return max(0.0, self.until - monotonic()) + spread


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
        self.sign_ins = SignIns()
        self._made: dict[Hashable, asyncio.Task[MadePage]] = {}
        """Pages by what they show."""
        self._edition = 0
        self._turn = asyncio.Lock()

    async def kept(self, what: Hashable, make: Callable[[], Awaitable[str]]) -> MadePage:
        """Return a page, made now or a moment ago: a hundred readers cost as much as one.

        Those who have waited for it get it one after the other, and whoever asks for a decision
        meanwhile has a turn between them.
        """
        if self.pulse.edition() != self._edition:
            self._edition = self.pulse.edition()
            self.forget()
        task = self._made.get(what)
        if task is not None and _is_kept(task):
            return task.result()
        if task is None or task.done():
            task = self._made[what] = asyncio.create_task(self._make(make))
        page = await asyncio.shield(task)
        async with self._turn:
            await asyncio.sleep(0)
        return page

    async def _make(self, make: Callable[[], Awaitable[str]]) -> MadePage:
        self._made = {
            one: task for one, task in self._made.items() if not task.done() or _is_kept(task)
        }
        before = process_time()
        main, shown = await make(), banners(self.engine, shows=True)

        def pack() -> bytes:
            head = render("banners.html", banners=shown)
            return gzip.compress((head + main).encode(), PACKING)

        packed = await in_thread(pack)
        seconds = min(max(KEPT_SECONDS, KEPT_SHARE * (process_time() - before)), MOST_SECONDS)
        return MadePage(main, packed, seconds, monotonic() + seconds)

    def forget(self) -> None:
        """Make every page again: something was changed."""
        self._made.clear()


def _is_kept(task: asyncio.Task[MadePage]) -> bool:
    """Return whether a page was made, and still may be shown."""
    made = task.done() and not task.cancelled() and task.exception() is None
    return made and monotonic() < task.result().until
