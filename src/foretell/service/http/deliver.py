"""Sending a reply."""

from __future__ import annotations

import asyncio

from starlette.types import Receive, Send

from foretell.service.http.call import Disconnected, Headers, Pieces, Reply, piece
from foretell.service.http.refusal import log_failure

NO_STORE = (b"cache-control", b"no-store")


class BrokenStream(Exception):
    """Content ended before its end: the server closes the connection, so the client can tell."""


async def deliver(reply: Reply, operation: str, method: str, receive: Receive, send: Send) -> None:
    """Send a reply; one to HEAD without its content."""
    status, content, headers, media = reply
    if not isinstance(content, bytes):
        await _stream(reply, content, operation, method, receive, send)
        return
    start = [NO_STORE, *headers]
    if status != 204:
        start += ((b"content-type", media), (b"content-length", b"%d" % len(content)))
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else content})


async def _stream(
    reply: Reply, content: Pieces, operation: str, method: str, receive: Receive, send: Send
) -> None:
    start: Headers = [NO_STORE, (b"content-type", reply.media), *reply.headers]
    gone = asyncio.ensure_future(_disconnection(receive))
    try:
        await send({"type": "http.response.start", "status": reply.status, "headers": start})
        if method != "HEAD":
            async for part in content:
                if gone.done():
                    return
                await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except Exception as error:  # noqa: BLE001 - whatever it is, the stream is broken
        log_failure(error, operation)
        raise BrokenStream(operation) from None
    finally:
        gone.cancel()
        await content.aclose()


async def _disconnection(receive: Receive) -> None:
    try:
        while True:
            await piece(receive)
    except Disconnected:
        return
