"""One deadline for everything that a blocking request reads and writes.

The library has a timeout for each phase of a request, and every read of a phase may take the whole
of it: a server that sends byte after byte would be waited for without end. Here a timeout knows
when it ends, and a connection looks at what is left before each read and write.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from foretell.client.backoff import RetryBudget

MAX_WRITE_BYTES = 16 * 1024
"""Bytes that are written at once: the library goes on within a write for as long as it moves."""


class PhaseTimeouts(dict[str, float]):
    """The timeouts of the phases of one request: each has what the ones before it left."""

    def __init__(self, seconds: float) -> None:
        """Begin now."""
        super().__init__()
        self._budget = RetryBudget(seconds)

    def get(self, _phase: str, _default: object = None) -> float:
        """Return the timeout of a phase that begins now."""
        return _DeadlineTimeout.of(self._budget)


class _DeadlineTimeout(float):
    """A timeout as the library wants it, which also knows its budget."""

    budget: RetryBudget

    @classmethod
    def of(cls, budget: RetryBudget) -> _DeadlineTimeout:
        timeout = cls(budget.left())
        timeout.budget = budget
        return timeout


def enforce_deadline(event: str, info: dict[str, Any]) -> None:
    """Have a connection that was just made look at the time before each read and write.

    The library calls this as the extension `trace` of a request.
    """
    if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
        stream = info["return_value"]
        stream.read = functools.partial(_read, stream.read)
        stream.write = functools.partial(_write, stream.write)


def _read(read: Callable[..., bytes], max_bytes: int, timeout: float | None = None) -> bytes:
    return read(max_bytes, timeout=_left(timeout))


def _write(write: Callable[..., None], data: bytes, timeout: float | None = None) -> None:
    for start in range(0, len(data), MAX_WRITE_BYTES):
        write(data[start : start + MAX_WRITE_BYTES], timeout=_left(timeout))


def _left(timeout: float | None) -> float | None:
    if not isinstance(timeout, _DeadlineTimeout):
        return timeout
    if timeout.budget.over():
        raise TimeoutError
    return timeout.budget.left()
