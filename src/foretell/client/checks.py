"""Checks of what a caller reports, so that what is kept can also be sent; and new ids."""

from __future__ import annotations

import math
import os
import time
from datetime import UTC, datetime

from foretell.errors import InvalidInput


def new_id() -> str:
    """Return an id that nothing else has; ids sort by the time at which they were made."""
    return f"{time.time_ns():016x}{os.urandom(8).hex()}"


def checked_text(what: str, value: str) -> str:
    """Return a name or an id, or raise InvalidInput if it can be neither."""
    if not isinstance(value, str) or not 1 <= len(value) <= 200 or not _is_unicode(value):
        raise InvalidInput(f"the {what} must be a text of 1 to 200 characters, got {shown(value)}")
    return value


def shown(value: object) -> str:
    """Return a value as an error shows it: whole, or the beginning of a long one.

    >>> shown("a"), shown("a" * 1000)[-5:], shown(10**5000)
    ("'a'", 'aa...', 'a number of too many digits')
    """
    try:
        whole = repr(value)
    except ValueError:
        return "a number of too many digits"
    return whole if len(whole) <= 300 else whole[:100] + "..."


def checked_number(value: float) -> float:
    """Return a reward as a float, or raise InvalidInput; NumPy's numbers are taken too."""
    try:
        plain = math.nan if isinstance(value, bool | str | bytes | bytearray) else float(value)
    except (TypeError, ValueError, OverflowError):
        plain = math.nan
    if not math.isfinite(plain):
        raise InvalidInput(f"a reward must be a finite number, got {shown(value)}")
    return plain


def moment_text(value: datetime | str | None) -> str | None:
    """Return a time as it is sent: in UTC; a text is taken as it is."""
    if not isinstance(value, datetime):
        return None if value is None else checked_text("time", value)
    if value.tzinfo is None:
        raise InvalidInput(
            f"occurred_at must have a time zone, got {value!r}: give it tzinfo=timezone.utc"
        )
    try:
        return value.astimezone(UTC).isoformat()
    except OverflowError as error:
        raise InvalidInput(
            f"occurred_at must be a time between the years 1 and 9999 in UTC, got {value!r}"
        ) from error


def _is_unicode(value: str) -> bool:
    """Return whether a text can be sent: half a surrogate pair cannot."""
    try:
        value.encode()
    except UnicodeError:
        return False
    return True
