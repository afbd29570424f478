"""One deadline for everything that a blocking request reads and writes.

The library has a timeout for each phase of a request, and every read of a phase may take the whole
of it: a server that sends byte after byte would be waited for without end. Here a timeout knows
when it ends, a connection looks at what is left before each read and write, and the host name is
resolved beside it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from foretell.client.backoff import RetryBudget
from foretell.client.resolver import is_address, resolved

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
    """Have a connection resolve its host in time, and look at the time before each read and write.

    The library calls this as the extension `trace` of a request, and before it connects with the
    very arguments that it then connects with.
    """
    if event.endswith(".connect_tcp.started"):
        _resolve_in_time(info)
    elif event.endswith((".connect_tcp.complete", ".start_tls.complete")):
        stream = info["return_value"]
        stream.read = functools.partial(_read, stream.read)
        stream.write = functools.partial(_write, stream.write)


def _resolve_in_time(connect: dict[str, Any]) -> None:
    """Resolve the host of a connection, and share the time that is left among its addresses."""
    timeout, host = connect["timeout"], connect["host"]
    if not isinstance(timeout, _DeadlineTimeout) or is_address(host):
        return
    addresses = resolved(host, connect["port"], timeout.budget.left())
    if len(addresses) == 1:
        connect["host"] = addresses[0]
    connect["timeout"] = timeout.budget.left() / max(1, len(addresses))


def _read(read: Callable[..., bytes], max_bytes: int, timeout: float | None = None) -> bytes:
    return read(max_bytes, timeout=_left(timeout))


def _write(write: Callable[..., None], data: bytes, timeout: float | None = None) -> None:
    for start in range(0, len(data), MAX_WRITE_BYTES):
        write(data[start : start + MAX_WRITE_BYTES], timeout=_left(timeout))


def _left(timeout: float | None) -> float | None:
    if not isinstance(timeout, _DeadlineTimeout):
        return timeout
    return timeout.budget.left_or_raise()
