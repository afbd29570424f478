"""Files that live as long as a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from foretell.service.http.call import Call, Reply

_PIECE = 1 << 18


class SentFile:
    """A file in a directory of its own, read piece by piece; closing it removes both."""

    def __init__(self, directory: TemporaryDirectory[str], file: BinaryIO) -> None:
        """Take over the directory."""
        self._directory = directory
        self._file = file

    def __aiter__(self) -> SentFile:
        """Go through the pieces."""
        return self

    async def __anext__(self) -> bytes:
        """Read the next piece, without holding up other requests."""
        part = await asyncio.to_thread(self._file.read, _PIECE)
        if not part:
            raise StopAsyncIteration
        return part

    async def aclose(self) -> None:
        """Remove the directory and all that is in it."""
        self._file.close()
        await asyncio.to_thread(self._directory.cleanup)


async def send_file(
    call: Call, write: Callable[[str], Awaitable[None]], name: str, media: bytes
) -> Reply:
    """Let `write` fill a new file, and reply with it; nothing is left of it after that.

    To HEAD, which is sent no content, no file is written, so its length is not told.
    """
    told = (b"content-disposition", f'attachment; filename="{name}"'.encode())
    if call.scope["method"] == "HEAD":
        return Reply(200, _nothing(), (told,), media)
    directory = TemporaryDirectory(prefix="foretell-")
    path = Path(directory.name) / name
    try:
        await write(str(path))
        file = path.open("rb")
    except BaseException:
        await asyncio.to_thread(directory.cleanup)
        raise
    length = (b"content-length", b"%d" % path.stat().st_size)
    return Reply(200, SentFile(directory, file), (length, told), media)


async def _nothing() -> AsyncGenerator[bytes]:
    return
    yield b""
