"""Server-sent events: a page is told when the log has moved, and reads itself again.

`moved`: there is more of the same; a page reads itself when what it shows is no longer kept by the
server. `changed`: a campaign was changed, or the log was closed; a page reads itself at once. Each
page looks at times of its own, so that many of them do not all come back at once. A browser that
has lost the connection connects again by itself. A stream ends with its session, so that the page
of a key that was revoked does not stay open.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from random import random
from typing import NamedTuple

from foretell.service.engine import Engine
from foretell.service.http.responses import encode
from foretell.service.model.errors import Overloaded
from foretell.service.model.events import moment
from foretell.service.model.timestamps import format_timestamp

LOOK_SECONDS = 2.0
"""Seconds between two looks at the log."""
TELL_LOOKS = 2
"""Looks after which a page is told again that the log has moved."""
BEAT_LOOKS = 5
"""Looks after which a page is told the time though nothing has moved."""
MOST_STREAMS = 500
"""Pages that can be open at once."""
MOST_OF_SESSION = 20
"""Pages that one session can have open: a browser closes the stream of a page that is not seen."""
MOST_OF_KEY = 125
"""Pages that all sessions of one key can have open: whoever has a key makes sessions at will."""
RETRY = b"retry: 1000\n\n"
"""After so many milliseconds a browser connects again."""


class _Look(NamedTuple):
    """What all pages see, however many are open."""

    position: tuple[int, int]
    """What changes when a page has something new to show."""
    edition: int
    until: float
    """When the log is looked at again, by the monotonic clock."""


class LogPulse:
    """Tells every open page that there is something new."""

    def __init__(self, engine: Engine, stopping: Callable[[], bool]) -> None:
        """Follow the log of an engine until the server stops."""
        self._engine = engine
        self._stopping = stopping
        self._open: Counter[str] = Counter()
        """Pages that are open, by their session."""
        self._of_key: Counter[str] = Counter()
        """The same, by the id of its key."""
        self._edition = 0
        self._configured: tuple[object, ...] = ()
        self._look: _Look | None = None

    @property
    def open(self) -> int:
        """Pages that are open."""
        return self._open.total()

    def check_room(self, session: str, key: str) -> None:
        """Raise unless one more page of a session can be open, and of its key by the key's id."""
        if self._open[session] >= MOST_OF_SESSION:
            raise Overloaded(f"you have {self._open[session]} pages open: close one")
        if self._of_key[key] >= MOST_OF_KEY:
            raise Overloaded(f"{self._of_key[key]} pages are open with your key: close one")
        if self.open >= MOST_STREAMS:
            raise Overloaded(f"{self.open} pages are open, and no more can be: close one")

    def edition(self) -> int:
        """Return a number that grows when anything but traffic has changed.

        What was shown before is then not shown again, however short a time ago it was made.
        """
        runtime = self._engine.runtime
        versions = [(one.number, one.version, one.refitting) for one in runtime.by_number.values()]
        configured = runtime.closed, *versions
        if configured != self._configured:
            self._configured = configured
            self._edition += 1
        return self._edition

    async def events(self, session: str, key: str) -> AsyncGenerator[bytes]:
        """Yield the events of one page of a session, which is one of a key."""
        self._open[session] += 1
        self._of_key[key] += 1
        try:
            yield RETRY
            seen, looks = self._latest_look(), TELL_LOOKS
            await asyncio.sleep(LOOK_SECONDS * random())  # noqa: S311  (not for secrets)
            while not self._stopping() and self._is_signed_in(session):
                now = self._latest_look()
                if now.edition != seen.edition:
                    seen, looks = now, 0
                    yield self._event("changed")
                elif now.position != seen.position and looks >= TELL_LOOKS:
                    seen, looks = now, 0
                    yield self._event("moved")
                elif looks >= BEAT_LOOKS:
                    looks = 0
                    yield self._event("beat")
                yield b""  # the browser may have gone meanwhile
                await asyncio.sleep(LOOK_SECONDS)
                looks += 1
        finally:
            self._open[session] -= 1
            self._of_key[key] -= 1
            self._open += Counter()  # forgets sessions without pages
            self._of_key += Counter()

    def _is_signed_in(self, session: str) -> bool:
        return self._engine.session_caller(session, time.time()) is not None

    def _latest_look(self) -> _Look:
        """Look at the log, unless another page has just done so."""
        now, runtime = time.monotonic(), self._engine.runtime
        if self._look is None or now >= self._look.until:
            refit = sum(int(1000 * one.refit_share) for one in runtime.by_number.values())
            position = runtime.log.head(), refit
            self._look = _Look(position, self.edition(), now + LOOK_SECONDS / 2)
        return self._look

    def _event(self, kind: str) -> bytes:
        runtime = self._engine.runtime
        now = format_timestamp(moment(runtime.log.head()))
        told = {"now": now, "closed": runtime.closed is not None}
        return b"event: %s\ndata: %s\n\n" % (kind.encode(), encode(told))
