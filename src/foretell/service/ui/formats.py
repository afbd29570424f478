"""Numbers and times as the pages write them; the filters of the templates."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from foretell import protocol
from foretell.service.model.timestamps import parse_timestamp
from foretell.service.reports.words import (
    MINUS,
    SPACE,
    ago,
    all_of,
    chance,
    day_and_time,
    many,
    percent,
    span,
)

NONE = "–"
NAMED = 12
"""Names that a sentence lists, at most."""
COLOURS = 7
"""Actions have so many colours; all from the last on share it, and their names tell them apart."""


def reward(number: float | None) -> str:
    """Return a reward with three decimals, as the API has it, rounded.

    >>> reward(0.0514), reward(-0.0514), reward(None)
    ('0.051', '−0.051', '–')
    """
    if number is None:
        return NONE
    text = f"{abs(number):,.3f}"
    return MINUS + text if number < 0 and float(text.replace(",", "")) else text


def signed(number: float | None) -> str:
    """Return a difference of rewards with its sign.

    >>> signed(0.0514), signed(-0.02)
    ('+0.051', '−0.020')
    """
    return NONE if number is None else ("+" if number > 0 else "") + reward(number)


def interval(found: protocol.RewardInterval | protocol.Interval | None) -> str:
    """Return the two ends of an interval.

    >>> interval(protocol.RewardInterval(0.5, 0.4, 0.6))
    '[0.400, 0.600]'
    """
    return "" if found is None else f"[{reward(found.low)}, {reward(found.high)}]"


def count(number: float) -> str:
    """Return a count, with commas.

    >>> count(18016)
    '18,016'
    """
    return f"{number:,.0f}"


def evidence(e_value: float) -> str:
    """Return an e-value, which may be huge or tiny.

    >>> evidence(0.002), evidence(3.21), evidence(7e63), evidence(math.inf)
    ('below 0.01', '3.2', 'over 10¹²', 'over 10¹²')
    """
    if e_value < 0.01:
        return "below 0.01"
    return "over 10¹²" if e_value >= 1e12 else f"{e_value:,.{1 if e_value < 100 else 0}f}"


def when(text: str | None, now: str | None = None) -> str:
    """Return a time of the API as a day and a time in UTC.

    >>> when("2023-11-14T22:13:20Z", "2023-11-15T00:00:00Z"), when(None)
    ('Tue 14 Nov, 22:13', 'never')
    """
    at = None if text is None else parse_timestamp(text)
    return "never" if at is None else day_and_time(at, parse_timestamp(now) if now else None)


def age(text: str | None, now: str) -> str:
    """Return how long ago something was.

    >>> age("2023-11-14T22:13:20Z", "2023-11-14T22:13:24Z"), age(None, "2023-11-14T22:13:24Z")
    ('4 seconds ago', 'never')
    """
    at, until = None if text is None else parse_timestamp(text), parse_timestamp(now)
    if at is None or until is None:
        return "never"
    return ago(at, until).removeprefix("on ")


def sentence(words: object) -> str:
    """Return what the API says as a sentence of a page.

    >>> sentence("there is no campaign 'a': make it first")
    "There is no campaign 'a': make it first."
    """
    text = str(words)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def status_words(name: str) -> str:
    """Return the status of a campaign as it stands after "is".

    >>> status_words("draft"), status_words("paused")
    ('a draft', 'paused')
    """
    return "a draft" if name == "draft" else name


def milliseconds(seconds: float | None) -> str:
    """Return a short time.

    >>> milliseconds(0.0031).replace(SPACE, " "), milliseconds(None)
    ('3.1 ms', '–')
    """
    if seconds is None:
        return NONE
    if math.isinf(seconds):
        return f"over 10{SPACE}s"
    return f"{1000 * seconds:,.{1 if seconds < 0.0995 else 0}f}{SPACE}ms"


def colour(index: int) -> str:
    """Return the number of an action's colour.

    >>> colour(0), colour(5), colour(12)
    ('1', '6', '7')
    """
    return str(min(index + 1, COLOURS))


def first_of(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, the first of them where they are many.

    >>> first_of(["click", "order"])
    'click and order'
    """
    more = len(names) - NAMED
    return all_of([*names[:NAMED], f"{count(more)} more"] if more > 0 else names)


def shown_difference(one: float, other: float) -> str:
    """Return a difference as that of the two numbers that are shown.

    >>> shown_difference(0.50162, 0.40541)
    '+0.097'
    """
    return signed(round(one, 3) - round(other, 3))


def gain(result: protocol.EvaluationResult) -> str:
    """Return what another policy would have earned more, by what is shown of the two."""
    more, ours = result.value.gain.mean, result.earned.mean
    theirs = result.value.doubly_robust.mean
    if more is None or ours is None or theirs is None:
        return signed(more)
    by_shown = round(theirs, 3) - round(ours, 3)
    return signed(by_shown if abs(by_shown - more) < 0.0011 else more)


FILTERS: dict[str, Callable[..., str]] = {
    "reward": reward,
    "gain": gain,
    "first_of": first_of,
    "many": many,
    "signed": signed,
    "interval": interval,
    "count": count,
    "evidence": evidence,
    "when": when,
    "age": age,
    "sentence": sentence,
    "status_words": status_words,
    "milliseconds": milliseconds,
    "colour": colour,
    "percent": percent,
    "chance": chance,
    "span": span,
}
