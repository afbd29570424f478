"""The limits on what is sent, and what the head of each request must say.

The parser is content with less: a request that names two hosts, or whose body is coded in a way
that is not read, might be taken for something else by a proxy before the service.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from foretell.service.model.errors import BadRequest, UnknownCoding

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
VERSIONS = frozenset({"1.0", "1.1"})
"""Of HTTP, that are spoken."""


class Limits(Struct, frozen=True, kw_only=True):
    """What a stranger, a key and a request may take; none depends on what a body says."""

    event: Count = 1 << 19
    """Bytes of the body of one decision or report: 413 over it."""
    body: Count = 1 << 20
    """Bytes of any other body: 413 over it."""
    batch: Count = 2 << 20
    """Bytes of a batch: 413 over it."""
    in_flight: Count = 1000
    """Requests served at the same time: 429 over it."""
    in_flight_per_key: Count = 500
    """Of them those of one key: 429 over it."""
    header_bytes: Count = 1 << 16
    """Bytes until the headers end, and of what stands between the parts of a body: 431 over it."""
    headers: Count = 100
    """Headers of a request: 431 over it."""
    header_seconds: Seconds = 10.0
    """Until the headers end: 408 over it."""
    body_seconds: Seconds = 10.0
    """From there until the body ends, more for a large one: 408 over it."""
    key_requests: Seconds | None = None
    """Requests a second and key: 429 over it; None: as many as come."""
    key_bytes: Seconds | None = None
    """Bytes of bodies a second and key: 429 over it."""
    key_context: Seconds | None = None
    """Bytes of stored context a second and key: 429 over it."""


def check_head(version: str, headers: Sequence[tuple[bytes, bytes]]) -> None:
    """Raise unless a head is one of HTTP/1.0 or HTTP/1.1, with its host and a body as it is."""
    if version not in VERSIONS:
        raise BadRequest(f"HTTP/{version} is not spoken here: send HTTP/1.1")
    hosts, codings = 0, []
    for name, value in headers:
        if name == b"host":
            hosts += 1
        elif name == b"transfer-encoding":
            codings += [one.strip().lower() for one in value.split(b",")]
    if hosts > 1 or (not hosts and version == "1.1"):
        raise BadRequest(f"the header Host must come once, and came {hosts} times: send one")
    if codings and codings != [b"chunked"]:
        if codings[-1] != b"chunked":
            raise BadRequest("a body with a Transfer-Encoding must end in chunks: send chunked")
        raise UnknownCoding(
            "the body must come as it is, in chunks or with its length: send no Transfer-Encoding "
            "but chunked"
        )
