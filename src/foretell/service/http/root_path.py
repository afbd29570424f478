"""A path in front of all others, where a proxy serves more than this service under one name.

The pages and answers of the service speak of addresses that begin with `/ui` or `/v1`. Here, and
nowhere else, they are put under the path that the proxy knows: in `Location`, in the path of the
session cookie, and in the links of a page. Requests may come with the path or without it.
"""

from __future__ import annotations

import re
from typing import cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

Header = tuple[bytes, bytes]
_LINK = re.compile(rb'(\s(?:href|src|action|formaction)=")/(?!/)')
"""A link of a template. What people have written is escaped, and has no such quotation mark."""
_COOKIE_PATH = re.compile(rb"(; Path=)/")


class RootPathMiddleware:
    """Serves an application under a path."""

    def __init__(self, inner: ASGIApp, root_path: str) -> None:
        """Put `inner` under `root_path`, which begins with a slash and ends without one."""
        self._inner = inner
        self._path = root_path
        self._prefix = root_path.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and f"{scope['path']}/".startswith(f"{self._path}/"):
            scope["path"] = scope["path"][len(self._path) :] or "/"
        await self._inner(scope, receive, _Sender(self._prefix, scope["method"], send))


class _Sender:
    """Sends an answer with its addresses under the path."""

    def __init__(self, prefix: bytes, method: str, send: Send) -> None:
        self._prefix = prefix
        self._method = method
        self._send = send
        self._page: Message | None = None
        """The start of a page, which waits for its content, because its length changes."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [self._moved(header) for header in cast("list[Header]", message["headers"])]
            message = {**message, "headers": headers}
            if any(name == b"content-type" and b"text/html" in value for name, value in headers):
                self._page = message
                return
        elif self._page is not None:
            start, self._page = self._page, None
            if not message.get("more_body"):
                content = _LINK.sub(rb"\1" + self._prefix + b"/", message.get("body", b""))
                start = {**start, "headers": self._measured(start["headers"], content)}
                message = {**message, "body": content}
            await self._send(start)
        await self._send(message)

    def _moved(self, header: Header) -> Header:
        name, value = header
        if name == b"location" and value.startswith(b"/"):
            return name, self._prefix + value
        if name == b"set-cookie":
            return name, _COOKIE_PATH.sub(rb"\1" + self._prefix + b"/", value)
        return header

    def _measured(self, headers: list[Header], content: bytes) -> list[Header]:
        """Return headers with the length of the content; HEAD, which has none, is told none."""
        others = [header for header in headers if header[0] != b"content-length"]
        if self._method == "HEAD":
            return others
        return [*others, (b"content-length", b"%d" % len(content))]
