"""Open pages of the dashboard: each follows the log, and reads itself again as live.js does.

Called as a program with a port, a path, how many pages, for how many seconds and the sessions that
share them, it does what that many browsers do with the network, and no more: what comes is counted
and thrown away, so that little CPU is taken from the server. It prints how often a page was read,
the bytes of one reading, and the CPU seconds that it took itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import uvloop

_ASK = "GET {path} HTTP/1.1\r\nHost: bench\r\nCookie: {session}\r\nX-Refresh: 1\r\n\r\n"


class _Stream(asyncio.Protocol):
    """The connection on which a page is told that there is something new."""

    def __init__(self, page: OpenPage) -> None:
        self._page = page

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1.1") and not data.startswith(b"HTTP/1.1 200"):
            self._page.fail(RuntimeError(f"no stream: {data[:300]!r}"))
        if b"event: changed" in data:
            self._page.read()
        elif b"event: moved" in data:
            self._page.read_in_time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._page.fail(exc or RuntimeError("the server closed a page"))


class _Reader(asyncio.Protocol):
    """The connection on which a page reads itself again; only the first part is looked at."""

    def __init__(self, page: OpenPage) -> None:
        self._page = page
        self._left = 0

    def data_received(self, data: bytes) -> None:
        if not self._left:
            head, _, rest = data.partition(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                self._page.fail(RuntimeError(f"no page: {head!r}"))
                return
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            self._page.size = self._left = int(fields[b"content-length"])
            self._page.wait(float(fields[b"x-read-again"]))
            data = rest
        self._left -= len(data)
        self._page.reads += not self._left


class OpenPage:
    """One page; `failed` is never done while all is well."""

    def __init__(self, port: int, session: str, path: str) -> None:
        """Open it when it is followed."""
        self._port = port
        self._stream = _ASK.format(path="/ui/stream", session=session).encode()
        self._page = _ASK.format(path=path, session=session).encode()
        self._again: asyncio.Transport | None = None
        self._after = 0.0
        self._due: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self.failed: asyncio.Future[None] = self._loop.create_future()
        self.reads = self.size = 0
        """How often it was read, and the bytes of the last reading."""

    async def follow(self) -> None:
        """Read the page whenever there is something new, until this is cancelled."""
        loop, address = self._loop, ("127.0.0.1", self._port)
        self._again, _ = await loop.create_connection(lambda: _Reader(self), *address)
        told, _ = await loop.create_connection(lambda: _Stream(self), *address)
        told.write(self._stream)
        await self.failed

    def fail(self, error: Exception) -> None:
        """End with the first error."""
        if not self.failed.done():
            self.failed.set_exception(error)

    def read(self) -> None:
        """Read it now."""
        self._due = None
        assert self._again is not None
        self._again.write(self._page)

    def read_in_time(self) -> None:
        """Read it when there can be something new."""
        if self._due is None:
            self._due = self._loop.call_at(max(self._after, self._loop.time()), self.read)

    def wait(self, seconds: float) -> None:
        """Do not read it before."""
        self._after = self._loop.time() + seconds


async def keep_open(
    port: int, path: str, pages: int, seconds: float, sessions: list[str]
) -> tuple[int, int, float]:
    """Keep pages open for so long; return the readings, the bytes of one, and the CPU taken."""
    opened = [OpenPage(port, sessions[n % len(sessions)], path) for n in range(pages)]
    began = time.process_time()
    following = [asyncio.create_task(one.follow()) for one in opened]
    closed, _ = await asyncio.wait(following, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for task in closed:
        task.result()
    for task in following:
        task.cancel()
    spent = time.process_time() - began
    return sum(one.reads for one in opened), max(one.size for one in opened), spent


if __name__ == "__main__":
    _, port, path, pages, seconds, *sessions = sys.argv
    kept = keep_open(int(port), path, int(pages), float(seconds), sessions)
    print(json.dumps(uvloop.run(kept)))
