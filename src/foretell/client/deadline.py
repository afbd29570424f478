"""One end for all that a blocking request reads and writes.

The library has a timeout for each phase of a request, and gives every read of a phase the whole
of it: a server that sends byte after byte would be waited for without end. Here a timeout knows
when it ends, and a connection looks at what is left before each read and write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from foretell.client.backoff import Budget

PIECE = 16 * 1024
"""Bytes that are written at once: the library goes on within a write for as long as it moves."""


class Timeouts(dict[str, float]):
    """The timeouts of the phases of one request: to each, what the ones before it left."""

    def __init__(self, seconds: float) -> None:
        """Begin now."""
        super().__init__()
        self._budget = Budget(seconds)

    def get(self, _phase: str, _default: object = None) -> float:
        """Return the timeout of a phase that begins now."""
        return _Until.the_end_of(self._budget)


class _Until(float):
    """A timeout as the library wants it, which also knows its budget."""

    budget: Budget

    @classmethod
    def the_end_of(cls, budget: Budget) -> _Until:
        until = cls(budget.left())
        until.budget = budget
        return until


def heed(event: str, info: dict[str, Any]) -> None:
    """Have a connection that was just made look at the time before each read and write.

    The library calls this as the extension `trace` of a request.
    """
    if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
        stream = info["return_value"]
        stream.read = functools.partial(_read, stream.read)
        stream.write = functools.partial(_write, stream.write)


def _read(read: Callable[..., bytes], most: int, timeout: float | None = None) -> bytes:
    return read(most, timeout=_left(timeout))


def _write(write: Callable[..., None], data: bytes, timeout: float | None = None) -> None:
    for start in range(0, len(data), PIECE):
        write(data[start : start + PIECE], timeout=_left(timeout))


def _left(timeout: float | None) -> float | None:
    if not isinstance(timeout, _Until):
        return timeout
    if timeout.budget.over():
        raise TimeoutError
    return timeout.budget.left()
