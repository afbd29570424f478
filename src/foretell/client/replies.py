"""What comes back from the network: an answer, or why there is none; no exception either way."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from foretell.client.calls import HttpReply, NoAnswer, trouble
from foretell.client.errors import ServiceUnavailable

if TYPE_CHECKING:
    import ssl

    import httpx2

MAX_REPLY_BYTES = 16 * 2**20
"""Bytes of an answer that is held in memory: a service never sends as many."""


class Listener:
    """Knows when the service was last heard."""

    last_contact: float | None = None
    """When the service last answered, in seconds since 1970."""

    def _heard(self, reply: HttpReply) -> HttpReply:
        if trouble(reply) is None:
            self.last_contact = time.time()
        return reply


class ReplyBody(bytearray):
    """What has come of an answer so far."""

    def add(self, part: bytes) -> None:
        """Add a part, or raise where there are too many bytes."""
        self += part
        self.check(len(self))

    @staticmethod
    def check(size: int) -> None:
        """Raise where an answer has so many bytes that it is not read."""
        if size > MAX_REPLY_BYTES:
            raise _TooLong


class _TooLong(Exception):
    """An answer that does not end."""


@functools.cache
def tls() -> ssl.SSLContext:
    """Read the certificates that are trusted, once: it takes longer than a decision."""
    import httpx2

    return httpx2.create_ssl_context()


def reply_of(response: httpx2.Response, body: ReplyBody) -> HttpReply:
    """Return an answer that has come whole."""
    return HttpReply(
        response.status_code,
        bytes(body),
        response.headers.get("Content-Type", ""),
        response.headers.get("Retry-After", ""),
    )


@contextmanager
def network_errors_raised(seconds: float) -> Iterator[None]:
    """Raise what goes wrong on the network as ServiceUnavailable."""
    import httpx2

    try:
        yield
    except (
        httpx2.HTTPError,
        httpx2.StreamError,
        _TooLong,
        ConnectionError,
        TimeoutError,
        ValueError,
    ) as error:
        raise ServiceUnavailable(no_answer(error, seconds).why) from error


def no_answer(error: Exception, seconds: float) -> NoAnswer:
    """Return why there is no answer."""
    import httpx2

    if isinstance(error, _TooLong):
        return NoAnswer(f"the service answered with more than {MAX_REPLY_BYTES // 2**20} MB")
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return NoAnswer(f"the service gave no answer within {seconds:.3g} s")
    return NoAnswer(f"the service cannot be reached: {str(error) or type(error).__name__}")
