"""JSON that the parser refuses: as plain values, or one sentence that says where it is no JSON.

The parser stops at half of a surrogate pair and where too many arrays are inside each other, though
both are JSON. A batch with such an event is cut into its events, each to be read for itself.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from msgspec import Raw

from foretell.service.model.errors import Malformed

_BEGIN = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*"events"[ \t\n\r]*:[ \t\n\r]*\[[ \t\n\r]*')
_BETWEEN = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_END = re.compile(r"[ \t\n\r]*\][ \t\n\r]*\}[ \t\n\r]*")
_TO_BRACKET = re.compile(r'(?:[^\[\]{}"]++|"(?:[^"\\]++|\\.)*+")*+([\[\]{}])', re.DOTALL)
"""All up to the next bracket outside of texts, without a step of Python for what is between."""
_CLOSING = {"[": "]", "{": "}"}


def plain_values(body: bytes) -> Any:
    """Read JSON into plain values, or raise Malformed with the place where it stops being JSON.

    A number that is too long to be read is infinite.
    """
    if not body.strip():
        raise Malformed("the body is empty: send JSON")
    try:
        text = body.decode()
        return json.loads(text, parse_constant=_no_number, parse_int=_whole_number)
    except UnicodeDecodeError as error:
        raise Malformed(f"the body is no UTF-8 at byte {error.start}: encode it as UTF-8") from None
    except json.JSONDecodeError as error:
        place, near = error.pos, text[error.pos : error.pos + 20]
        if not near.strip():
            raise Malformed("the body ends before its JSON does: send all of it") from None
        raise Malformed(
            f"the body is no JSON from character {place} on, at {near!r}: mend what writes it"
        ) from None
    except RecursionError:
        raise Malformed("the body has too many arrays and objects inside each other") from None


def _no_number(name: str) -> NoReturn:
    raise Malformed(f"{name} is no JSON: send a finite number, or leave the field out")


def _whole_number(text: str) -> float:
    return math.inf if len(text) > 400 else int(text)


def cut_events(body: bytes) -> list[Raw] | None:
    """Return the events of a batch; None if it is no JSON, or holds anything else.

    >>> [bytes(one) for one in cut_events(b'{"events": [{"a": 1}, ["]"] ]}')]
    [b'{"a": 1}', b'["]"]']
    >>> cut_events(b'{"events": [1, 2}'), cut_events(b'{"events": [NaN]}')
    (None, None)
    """
    try:
        text = body.decode()
        begin = _BEGIN.match(text)
        return None if begin is None else _cut(text, begin.end())
    except (ValueError, Malformed):  # of which those of UTF-8 and of JSON are some
        return None


def _cut(text: str, place: int) -> list[Raw] | None:
    events = []
    while True:
        end = _end_of_value(text, place)
        events.append(Raw(text[place:end].encode()))
        between = _BETWEEN.match(text, end)
        if between is None:
            return events if _END.fullmatch(text, end) else None
        place = between.end()


def _end_of_value(text: str, place: int) -> int:
    """Return where a value ends, or raise ValueError."""
    try:
        return _DECODER.raw_decode(text, place)[1]
    except RecursionError:
        return _end_of_brackets(text, place)


def _end_of_brackets(text: str, place: int) -> int:
    """Return where an array or object ends that is too deep to be looked into."""
    open_: list[str] = []
    while True:
        found = _TO_BRACKET.match(text, place)
        if found is None:
            raise ValueError("brackets are left open")
        place, bracket = found.end(), found[1]
        if bracket in _CLOSING:
            open_.append(_CLOSING[bracket])
        elif not open_ or open_.pop() != bracket:
            raise ValueError("a bracket closes what was not opened")
        if not open_:
            return place


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_int=str, parse_float=str)
"""Numbers stay texts: they are not looked at, and may be long."""
