"""Resolving the name of a host in a thread, because the system's resolver has no time limit."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from concurrent.futures import Future


def is_address(host: str) -> bool:
    """Return whether a host is an address already."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


_being_resolved: dict[tuple[int, str, int], Future[list[str]]] = {}
"""What is asked of the system's resolver now, by process: nobody asks it the same twice."""


def resolved(host: str, port: int, seconds: float) -> list[str]:
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
