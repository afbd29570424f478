"""Timestamps: RFC 3339 text outside, whole microseconds since 1970 in the log."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = 1_000_000
_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:(\.\d{1,6})\d*)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
"""A date, a time, at most six decimals of a second, and a zone."""


def format_timestamp(moment: int) -> str:
    """Return a moment as RFC 3339 text, always with six decimals.

    msgspec leaves out decimals that are 0, and takes longer.

    >>> format_timestamp(1_700_000_000_000_001)
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


def parse_timestamp(text: str) -> int | None:
    """Return the moment of RFC 3339 text; None where it is no such text, or has no time zone.

    Digits after the sixth are cut off: msgspec would round them, to a moment that has not come.

    >>> parse_timestamp("2023-11-14T22:13:20Z"), parse_timestamp("yesterday")
    (1700000000000000, None)
    """
    parts = _RFC_3339.fullmatch(text)
    if parts is None:
        return None
    try:
        found = msgspec.convert("".join(parts.groups("")), datetime)
    except msgspec.ValidationError:
        return None
    return (found - _EPOCH) // timedelta(microseconds=1)
