"""Moments as people write them (RFC 3339), and as the log does: whole microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def text(moment: int) -> str:
    """Write a moment as RFC 3339.

    >>> text(1_700_000_000_000_001)
    '2023-11-14T22:13:20.000001Z'
    """
    seconds, rest = divmod(moment, _SECOND)
    return f"{_whole_seconds(seconds)}.{rest:06d}Z"


@lru_cache(1024)
def _whole_seconds(seconds: int) -> str:
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:-6]
    except OverflowError:
        return "9999-12-31T23:59:59"


def moment(written: str) -> int | None:
    """Read a moment written as RFC 3339; None where it is none, or has no time zone.

    >>> moment("2023-11-14T22:13:20Z"), moment("yesterday")
    (1700000000000000, None)
    """
    if not _RFC_3339.fullmatch(written):
        return None
    try:
        return (datetime.fromisoformat(written.upper()) - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None
