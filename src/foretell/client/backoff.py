"""How long to wait before a request is sent again.

Waits grow exponentially with full jitter: each is drawn from 0 up to a bound that doubles, so
that clients which failed together do not come back together.
"""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

from foretell.client.calls import CallResult, NoAnswer, trouble

MAX_RETRY_AFTER = 600.0
"""No `Retry-After` is obeyed for longer than so many seconds."""


def backoff(tries: int, first: float, longest: float) -> float:
    """Draw the wait after `tries` failed tries: up to `first`, then twice that, up to `longest`."""
    drawn = int.from_bytes(os.urandom(7), "big") / 2**56  # `random` is slow to import
    return drawn * min(longest, first * 2 ** min(tries - 1, 60))


def retry_after(result: CallResult) -> float:
    """Return for how many seconds the service wants to be left alone: its `Retry-After`."""
    text = "" if isinstance(result, NoAnswer) else result.retry_after.strip()
    if not text:
        return 0.0
    try:
        seconds = float(text) if text.isdecimal() else _seconds_until(text)
    except (ValueError, OverflowError):
        return 0.0
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def _seconds_until(date: str) -> float:
    from email.utils import parsedate_to_datetime  # seldom needed, and slow to import

    moment = parsedate_to_datetime(date)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


class RetryBudget:
    """The time that a request may take, over all its tries."""

    def __init__(self, seconds: float) -> None:
        """Begin now."""
        self._end = time.monotonic() + seconds
        self._tries = 0
        self._refusal: CallResult | None = None

    def left(self) -> float:
        """Return the seconds left: never less than a millisecond, as 0 would be no limit."""
        return max(0.001, self._end - time.monotonic())

    def left_or_raise(self) -> float:
        """Return the seconds left, or raise TimeoutError where there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def wait(self, result: CallResult) -> float | None:
        """Return how long to wait before the next try; None: there is none."""
        if trouble(result) is None:
            return None
        if not isinstance(result, NoAnswer):
            self._refusal = result
        self._tries += 1
        seconds = retry_after(result) + backoff(self._tries, 0.01, 1.0)
        return seconds if seconds < self._end - time.monotonic() else None

    def final(self, result: CallResult) -> CallResult:
        """Return the last result, or what the service said before a last try without an answer."""
        return self._refusal if isinstance(result, NoAnswer) and self._refusal else result
