"""The yardsticks of the service: a handler that does nothing, and one that syncs, on its stack.

The second appends a page to a file and answers when it is on disk; what comes while the disk is
busy is written and synced together, in a thread, as a log would do it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_ANSWER = msgspec.json.encode({"decision_id": "x" * 64, "action": "a", "propensity": 1.0})
PAGE = b"x" * 4096


class GroupedSync:
    """A file to which pages are appended, those of all who wait with one fdatasync."""

    def __init__(self, path: str) -> None:
        """Open the file."""
        self._file = Path(path).open("ab", buffering=0)  # noqa: SIM115  (open as long as we run)
        self._waiting: list[asyncio.Future[None]] = []
        self._busy: asyncio.Task[None] | None = None

    async def append(self) -> None:
        """Append a page, and return when it is on disk."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._busy is None:
            self._busy = asyncio.create_task(self._sync())
        await done

    async def _sync(self) -> None:
        while self._waiting:
            group, self._waiting = self._waiting, []
            await asyncio.to_thread(self._write, len(group))
            for done in group:
                done.set_result(None)
        self._busy = None

    def _write(self, count: int) -> None:
        self._file.write(PAGE * count)
        os.fdatasync(self._file.fileno())


async def nothing(request: Request) -> Response:
    """Read the body and answer."""
    msgspec.json.decode(await request.body())
    return Response(_ANSWER, 201, media_type="application/json")


def main(port: int, path: str) -> None:
    """Serve both handlers."""
    file = GroupedSync(path)

    async def synced(request: Request) -> Response:
        msgspec.json.decode(await request.body())
        await file.append()
        return Response(_ANSWER, 201, media_type="application/json")

    uvicorn.run(
        Starlette(
            routes=[
                Route("/empty", nothing, methods=["POST"]),
                Route("/synced", synced, methods=["POST"]),
            ]
        ),
        port=port,
        loop="uvloop",
        http="httptools",
        access_log=False,
        log_level="error",
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
