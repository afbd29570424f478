"""Open pages of the dashboard: each follows the log, and reads itself again when it has moved.

Called as a program with a port, a session, a path, how many pages and for how many seconds, it does
what that many browsers do, and prints how often a page was read, and the bytes of one reading.
"""

from __future__ import annotations

import asyncio
import json
import sys

import uvloop

_ASK = "GET {path} HTTP/1.1\r\nHost: bench\r\nCookie: {session}\r\nX-Refresh: 1\r\n\r\n"


class OpenPage:
    """One page: a connection on which it is told, and one on which it reads itself again."""

    def __init__(self, port: int, session: str, path: str) -> None:
        """Open it when it is followed."""
        self._port = port
        self._stream = _ASK.format(path="/ui/stream", session=session).encode()
        self._page = _ASK.format(path=path, session=session).encode()
        self.reads = self.size = 0
        """How often it was read, and the bytes of the last reading."""

    async def follow(self) -> None:
        """Read the page whenever the log has moved, until this is cancelled."""
        told, asking = await asyncio.open_connection("127.0.0.1", self._port)
        asking.write(self._stream)
        answers, again = await asyncio.open_connection("127.0.0.1", self._port)
        while line := await told.readline():
            if line == b"event: moved\n":
                again.write(self._page)
                head = await answers.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
                self.size = len(await answers.readexactly(int(length)))
                self.reads += 1


async def keep_open(
    port: int, session: str, path: str, pages: int, seconds: float
) -> tuple[int, int]:
    """Keep pages open for so long; return how often one was read, and the bytes of a reading."""
    opened = [OpenPage(port, session, path) for _ in range(pages)]
    following = [asyncio.create_task(one.follow()) for one in opened]
    closed, _ = await asyncio.wait(following, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    if closed:
        raise RuntimeError("the server closed a page")
    for task in following:
        task.cancel()
    return sum(one.reads for one in opened), max(one.size for one in opened)


if __name__ == "__main__":
    _, port, session, path, pages, seconds = sys.argv
    print(json.dumps(uvloop.run(keep_open(int(port), session, path, int(pages), float(seconds)))))
