"""One deadline for everything that a blocking request reads and writes.

The library has a timeout for each phase of a request, and every read of a phase may take the whole
of it: a server that sends byte after byte would be waited for without end. Here a timeout knows
when it ends, a connection looks at what is left before each read and write, and the host name is
resolved beside it.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
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
    if not isinstance(timeout, _DeadlineTimeout) or _is_address(host):
        return
    addresses = _resolved(host, connect["port"], timeout.budget.left())
    if len(addresses) == 1:
        connect["host"] = addresses[0]
    connect["timeout"] = timeout.budget.left() / max(1, len(addresses))


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


_being_resolved: dict[tuple[int, str, int], Future[list[str]]] = {}
"""What is asked of the system's resolver now, by process: nobody asks it the same twice."""


def _resolved(host: str, port: int, seconds: float) -> list[str]:
    """Return the addresses of a host, or raise TimeoutError; the system's resolver has no limit."""
    key, new = (os.getpid(), host, port), Future[list[str]]()
    asked = _being_resolved.setdefault(key, new)
    if asked is new:
        threading.Thread(target=_resolve, args=(key, new), daemon=True).start()
    return asked.result(seconds)


def _resolve(key: tuple[int, str, int], answer: Future[list[str]]) -> None:
    _, host, port = key
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        answer.set_result(list(dict.fromkeys(str(one[4][0]) for one in found)))
    except BaseException as error:  # noqa: BLE001 - whoever waits for it raises it
        answer.set_exception(error)
    finally:
        _being_resolved.pop(key, None)


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
