"""The limits on what is sent."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


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
