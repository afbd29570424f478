"""A request as a handler sees it, and what a handler gives back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
from starlette.types import Message, Receive, Scope

from foretell.service.http.limits import Limits
from foretell.service.http.metrics import Metrics
from foretell.service.http.service import Service

Headers = Sequence[tuple[bytes, bytes]]
Found = Mapping[bytes, bytes]
"""Headers by their names in small letters; of several with one name, the last."""
JSON = b"application/json"
NDJSON = b"application/x-ndjson"
encode = msgspec.json.Encoder().encode


class Shared:
    """What all requests have in common."""

    __slots__ = ("document", "engine", "in_flight", "limits", "metrics", "page")

    def __init__(
        self, engine: Service, limits: Limits, metrics: Metrics, document: bytes, page: bytes
    ) -> None:
        """Start with no request in flight; `document` and `page` describe the service."""
        self.engine = engine
        self.limits = limits
        self.metrics = metrics
        self.document = document
        self.page = page
        self.in_flight = 0


class Call(NamedTuple):
    """A request that was let in: `body` and `query` are as the table of operations says."""

    shared: Shared
    engine: Service
    params: dict[str, str]
    scope: Scope
    body: Any
    query: Any
    receive: Receive


class Pieces(Protocol):
    """Content that is sent as it comes, and let go when it is sent or not wanted any more."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Go through the pieces."""

    async def __anext__(self) -> bytes:
        """Return the next piece."""

    async def aclose(self) -> None:
        """Let go of what is behind the pieces, whether they were asked for or not."""


class Reply(NamedTuple):
    """An answer."""

    status: int
    content: bytes | Pieces = b""
    headers: Headers = ()
    media: bytes = JSON


class Disconnected(Exception):
    """The client went away before its request was read."""


async def piece(receive: Receive) -> Message:
    """Wait for the next piece of the body."""
    message = await receive()
    if message["type"] != "http.request":
        raise Disconnected
    return message
