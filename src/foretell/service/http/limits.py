"""How much the service takes at once."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=1)]


class Limits(Struct, frozen=True):
    """What is refused before it is read; a refusal never depends on what a body says."""

    body: Count = 1 << 20
    """Bytes of a body: 413 over it."""
    batch: Count = 4 << 20
    """Bytes of a batch: 413 over it."""
    in_flight: Count = 1000
    """Requests served at the same time: 429 over it."""


MOST_EVENTS = 2000
"""Events of a batch: 413 over it."""
DEEPEST = 64
"""Arrays and objects inside each other: 400 over it."""
