"""Responses: what a handler returns, and how it is sent.

Starlette's own are not used. Its FileResponse leaves a temporary file behind where sending fails,
and answers ranges of a file that is another at every request. Its StreamingResponse reads the
whole log for HEAD, does not close what it reads, and lets the message of an error, which may quote
a request, into the server's log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

import msgspec
from starlette.types import Receive, Scope, Send

from foretell.service.log.errors import storage_error

Headers = Sequence[tuple[bytes, bytes]]
NO_STORE = (b"cache-control", b"no-store")
_CHUNK = 1 << 18
_log = logging.getLogger("foretell.service")
encode = msgspec.json.Encoder().encode


class Response(NamedTuple):
    """An answer: `content` is complete, or a stream that is closed when it is no longer read."""

    status: int
    content: bytes | AsyncGenerator[bytes] | FileStream = b""
    headers: Headers = ()
    media: bytes = b"application/json"


class Exchanged:
    """A request whose `receive` and `send` are its own: what is whole need not pass through them.

    Where something is wrapped around either of them, it is called as ASGI says.
    """

    def whole_body(self) -> bytes | None:
        """Take the body, if all of it has come; None where it must be waited for."""
        raise NotImplementedError

    def answer(self, status: int, headers: Headers, content: bytes) -> bool:
        """Send an answer in one piece; return whether that can be done."""
        raise NotImplementedError


class BrokenStream(Exception):
    """Content stopped before its end: the server closes the connection, so the client can tell."""


async def send_response(
    response: Response, operation: str, method: str, receive: Receive, send: Send
) -> None:
    """Send a response; one to HEAD without its content."""
    status, content, headers, media = response
    if not isinstance(content, bytes):
        await _send_stream(response, content, operation, method, receive, send)
        return
    start = [NO_STORE, *headers]
    if status != 204:
        start += ((b"content-type", media), (b"content-length", b"%d" % len(content)))
    exchange = getattr(send, "__self__", None)
    if isinstance(exchange, Exchanged) and exchange.answer(status, start, content):
        return
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else content})


async def _send_stream(
    response: Response,
    content: AsyncGenerator[bytes] | FileStream,
    operation: str,
    method: str,
    receive: Receive,
    send: Send,
) -> None:
    start: Headers = [NO_STORE, (b"content-type", response.media), *response.headers]
    gone = asyncio.ensure_future(_wait_for_disconnect(receive))
    try:
        await send({"type": "http.response.start", "status": response.status, "headers": start})
        if method != "HEAD":
            async for chunk in content:
                if gone.done():
                    return
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except Exception as error:  # noqa: BLE001 - whatever it is, the stream is broken
        log_failure(error, operation)
        raise BrokenStream(operation) from None
    finally:
        gone.cancel()
        await content.aclose()


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] == "http.request":
        pass


def request_id(scope: Scope) -> str | None:
    """Return the id of a request; None where no connection of ours gave it one."""
    given: bytes | None = scope.get("request_id")
    return None if given is None else given.decode("ascii")


def log_failure(error: BaseException, operation: str, request_id: str | None = None) -> None:
    """Log where an error arose and of which kind it is: its message may quote the request."""
    where = "".join(traceback.format_tb(error.__traceback__))
    extra = {} if request_id is None else {"request_id": request_id}
    _log.error("%s failed with %s at\n%s", operation, type(error).__qualname__, where, extra=extra)


class FileStream:
    """A file that has no name any more, read chunk by chunk; it is gone when it is closed.

    It is no generator, because one that was never started closes without running its `finally`.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Take over the file."""
        self._file = file

    def __aiter__(self) -> FileStream:
        """Iterate over the chunks."""
        return self

    async def __anext__(self) -> bytes:
        """Read the next chunk, without holding up other requests."""
        chunk = await asyncio.to_thread(self._file.read, _CHUNK)
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        """Close the file."""
        await asyncio.to_thread(self._file.close)


@asynccontextmanager
async def scratch(make: Callable[[], TemporaryDirectory[str]]) -> AsyncIterator[Path]:
    """Work in a folder for copies; why they cannot be written there is said in a sentence."""
    folder = None
    try:
        folder = await asyncio.to_thread(make)
        yield Path(folder.name)
    except OSError as error:
        reason = storage_error(error)
        if reason is None:
            raise
        raise reason from None
    finally:
        if folder is not None:
            await asyncio.to_thread(folder.cleanup)


async def file_response(
    method: str,
    make: Callable[[], TemporaryDirectory[str]],
    write: Callable[[str], Awaitable[None]],
    name: str,
    media: bytes,
) -> Response:
    """Let `write` fill a temporary file, and return it as a response that removes it once sent.

    To HEAD, which is sent no content, no file is written, so its length is left out.
    """
    disposition = (b"content-disposition", f'attachment; filename="{name}"'.encode())
    if method == "HEAD":
        return Response(200, _no_content(), (disposition,), media)
    async with scratch(make) as folder:
        await write(str(folder / name))
        file = await asyncio.to_thread((folder / name).open, "rb")
    length = (b"content-length", b"%d" % os.fstat(file.fileno()).st_size)
    return Response(200, FileStream(file), (length, disposition), media)


async def _no_content() -> AsyncGenerator[bytes]:
    return
    yield b""
