"""How a client is: what it fell back on, what waits to be sent, and when it last heard anything."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from foretell.client.checks import shown

if TYPE_CHECKING:
    import logging

LOG_SECONDS = 60.0
"""Fallbacks are logged once in so many seconds at most, and so is dropped feedback."""


def logger() -> logging.Logger:
    """Return the client's logger: `logging` is slow to import, and seldom needed."""
    import logging

    return logging.getLogger("foretell.client")


class ClientHealth(Struct, frozen=True):
    """What an operator asks of a client; times are in UTC."""

    fallbacks: int
    """How many decisions were fallbacks."""
    last_fallback: str | None
    """Why the last of them was one."""
    last_fallback_at: datetime | None
    dropped: int
    """How often feedback was dropped: on a fallback, or because it could not be kept."""
    queued: int
    """Events that the service does not have yet, of all who share the outbox."""
    oldest_queued_at: datetime | None
    rejected: int
    """Events that the service will not take: see `rejected` and `resend_rejected`."""
    trouble: str | None
    """What keeps feedback from being sent; None: nothing does."""
    last_contact: datetime | None
    """When the service last answered."""
    last_drop: str | None = None
    """Why feedback could last not be kept; that on a fallback is dropped without a reason."""
    last_drop_at: datetime | None = None


class FallbackLog:
    """Counts fallbacks and dropped feedback, and logs the reason of one of each a minute."""

    def __init__(self) -> None:
        """Begin without any."""
        self.fallbacks = 0
        self.dropped = 0
        self.last: str | None = None
        self.last_at: float | None = None
        self.last_drop: str | None = None
        self.last_drop_at: float | None = None
        self._lock = threading.Lock()
        self._fallback_lines = _Lines()
        self._drop_lines = _Lines()

    def fell_back(self, campaign: object, error: Exception) -> None:
        """Count a decision that is a fallback."""
        with self._lock:
            self.fallbacks += 1
            self.last, self.last_at = str(error), time.time()
        self._fallback_lines.say(f"fallback for {shown(campaign)}", error)

    def drop(self, error: Exception | None = None) -> None:
        """Count feedback that is dropped; without an error it was about a fallback."""
        with self._lock:
            self.dropped += 1
            if error is None:
                return
            self.last_drop, self.last_drop_at = str(error), time.time()
        self._drop_lines.say("feedback was dropped", error)


class _Lines:
    """Log lines of one kind, one in a minute at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next_log = -1.0
        self._unlogged = 0

    def say(self, what: str, error: Exception) -> None:
        with self._lock:
            self._unlogged += 1
            if time.monotonic() < self._next_log:
                return
            self._next_log = time.monotonic() + LOG_SECONDS
            count, self._unlogged = self._unlogged, 0
        more = f" ({count} since this was last logged)" if count > 1 else ""
        logger().warning("%s%s: %s", what, more, error)


def utc(seconds: float | None) -> datetime | None:
    """Return a time in seconds since 1970 as a datetime."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
