"""Numbers as people say them: shares, spans of time and moments in the sentences of reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

SPACE, MINUS = "\u00a0", "\u2212"
"""A space that does not break, and a minus sign."""
RELATIVE = 48 * 3_600_000_000
"""Microseconds up to which an age is said as a span of time."""
JUST_NOW = 100_000
"""Microseconds within which nobody is told how long ago it was."""
_SPANS = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"))
BEYOND = "a day beyond the calendar"
OBVIOUS = 180 * 86_400_000_000
"""Microseconds from now within which nobody has to be told the year."""
_BOTH = 2.0
"""Below so many of a unit, the next smaller one says more."""


def percent(share: float) -> str:
    """Return a share in whole per cents; what is not quite none or all is not said to be.

    No space in it breaks, and minus is a minus.

    >>> [percent(one).replace(SPACE, " ") for one in (0.123, 0.0, 0.001, 0.9999, -0.034, -0.001)]
    ['12 %', '0 %', '< 1 %', '> 99 %', '−3 %', '> −1 %']
    """
    if share < 0.0:
        return f">{SPACE}{MINUS}1{SPACE}%" if share > -0.01 else MINUS + percent(-share)
    if 0.0 < share < 0.01:
        return f"<{SPACE}1{SPACE}%"
    if 0.99 < share < 1.0:
        return f">{SPACE}99{SPACE}%"
    return f"{math.floor(100 * share + 0.5)}{SPACE}%"


def all_of(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> all_of(["a"]), all_of(["a", "b"]), all_of(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def many(number: float, one: str, more: str | None = None) -> str:
    """Return a count with its noun, which has an s where there is not one, or is as it is given.

    >>> many(1, "decision"), many(1_200, "decision"), many(1, "waits", "wait")
    ('1 decision', '1,200 decisions', '1 waits')
    """
    return f"{number:,.0f} {one if number == 1 else more or one + 's'}"


def chance(probability: float) -> str:
    """Return a probability, which is never said to be 0 or 1.

    >>> [chance(one).replace(SPACE, " ") for one in (0.5, 1.0, 0.0)]
    ['50 %', '> 99 %', '< 1 %']
    """
    return percent(min(max(probability, 1e-9), 1.0 - 1e-9))


def span(seconds: float) -> str:
    """Return a span of time in the unit that suits it.

    >>> span(604_800), span(86_400), span(5_400), span(90), span(2.5), span(0.2)
    ('7 days', '24 hours', '90 minutes', '90 seconds', '2.5 seconds', '0.2 seconds')
    """
    for size, many in _SPANS:
        if seconds >= _BOTH * size:
            return f"{_short(seconds / size)} {many}"
    return f"{_short(seconds)} {'second' if seconds == 1 else 'seconds'}"


def span_adjective(seconds: float) -> str:
    """Return a span of time as it stands before a noun.

    >>> span_adjective(604_800) + " window", span_adjective(1.5) + " window"
    ('7-day window', '1.5-second window')
    """
    number, unit = span(seconds).split(" ")
    return f"{number}-{unit.removesuffix('s')}"


def day_and_time(moment: int, now: int | None = None) -> str:
    """Return a moment, in microseconds, as a day and a time in UTC; seen from now if that is given.

    >>> day_and_time(1_700_000_000_000_000)
    'Tue 14 Nov 2023, 22:13'
    >>> day_and_time(1_700_000_000_000_000, now=1_700_500_000_000_000)
    'Tue 14 Nov, 22:13'
    """
    at = _calendar(moment)
    return BEYOND if at is None else f"{day(moment, now)}, {at:%H:%M}"


def day(moment: int, now: int | None = None) -> str:
    """Return a moment, in microseconds, as a day in UTC; the year is left out where it is obvious.

    >>> day(1_700_000_000_000_000, now=1_700_500_000_000_000), day(1_700_000_000_000_000)
    ('Tue 14 Nov', 'Tue 14 Nov 2023')
    """
    at = _calendar(moment)
    if at is None:
        return BEYOND
    obvious = now is not None and abs(now - moment) < OBVIOUS
    return f"{at:%a} {at.day} {at:%b}" if obvious else f"{at:%a} {at.day} {at:%b %Y}"


def since(moment: int, now: int) -> str:
    """Return since when something has been so: as an age, or if that is long as a moment.

    >>> since(1_700_000_000_000_000, 1_700_010_800_000_000)
    'for 3 hours'
    >>> since(1_700_000_000_000_000, 1_700_500_000_000_000)
    'since Tue 14 Nov, 22:13'
    """
    if now - moment < RELATIVE:
        return f"for {span(max(0, now - moment) / 1e6)}"
    return f"since {day_and_time(moment, now)}"


def ago(moment: int, now: int) -> str:
    """Return when something was: as an age, or if that is long as a moment.

    >>> ago(1_700_000_000_000_000, 1_700_010_800_000_000)
    '3 hours ago'
    >>> ago(1_700_000_000_000_000, 1_700_500_000_000_000)
    'on Tue 14 Nov, 22:13'
    >>> ago(1_700_000_000_000_000, 1_700_000_000_000_000)
    'just now'
    """
    if now - moment < JUST_NOW:
        return "just now"
    if now - moment < RELATIVE:
        return f"{span(max(0, now - moment) / 1e6)} ago"
    return f"on {day_and_time(moment, now)}"


def _calendar(moment: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(moment // 1_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if number < 10 else f"{number:.0f}"
