"""One event of feedback: checked here, so that what is kept can also be sent."""

from __future__ import annotations

import math
import secrets
import time
from datetime import UTC, datetime
from typing import Literal

import msgspec

from foretell.errors import InvalidInput


class Event(msgspec.Struct, omit_defaults=True):
    """What happened to a decision: with `signal` it is a signal, else a reward.

    It always has an id, so that the service counts it once however often it is sent.
    """

    decision_id: str
    event_id: str
    signal: str | None = None
    value: float | None = None
    kind: Literal["reward", "adjust", "retract"] = "reward"
    target: str | None = None
    occurred_at: str | None = None


def new_id() -> str:
    """Make an id that nothing else has; ids sort by the time at which they were made."""
    return f"{time.time_ns():016x}{secrets.token_hex(8)}"


def text(what: str, value: str) -> str:
    """Give a name or an id, if it can be one."""
    if not isinstance(value, str) or not 1 <= len(value) <= 200:
        raise InvalidInput(f"the {what} must be a text of 1 to 200 characters, got {value!r}")
    return value


def number(value: float) -> float:
    """Give a reward, if it can be one; NumPy's numbers are taken too."""
    try:
        plain = float(value)
    except (TypeError, ValueError):
        plain = math.nan
    if not math.isfinite(plain):
        raise InvalidInput(f"a reward must be a finite number, got {value!r}")
    return plain


def moment(value: datetime | str | None) -> str | None:
    """Give a time as it is sent; a text is taken as it is."""
    if not isinstance(value, datetime):
        return None if value is None else text("time", value)
    if value.tzinfo is None:
        raise InvalidInput(
            f"occurred_at must have a time zone, got {value!r}: give it tzinfo=timezone.utc"
        )
    return value.astimezone(UTC).isoformat()
