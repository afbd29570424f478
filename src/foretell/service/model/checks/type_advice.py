"""What to do about a value that is not of the type of its field."""

from __future__ import annotations

import difflib
import math
import re
import sys
from functools import singledispatch
from typing import Any

from msgspec import inspect

from foretell.errors import LONG


@singledispatch
def advice(_kind: inspect.Type, _value: Any) -> str | None:
    """Return what to do about a value that is not of a type; None: it is one.

    What is in a list is not looked at.
    """
    return None


@advice.register
def _(kind: inspect.Metadata, value: Any) -> str | None:
    return advice(kind.type, value)


@advice.register
def _(kind: inspect.LiteralType, value: Any) -> str | None:
    words = [str(one) for one in kind.values]
    if value in words:
        return None
    short = isinstance(value, str) and len(value) <= LONG
    close = difflib.get_close_matches(value, words, n=1, cutoff=0.6) if short else []
    return f"did you mean {close[0]!r}?" if close else "choose one of them"


@advice.register(inspect.FloatType)
@advice.register(inspect.IntType)
def _(kind: inspect.FloatType | inspect.IntType, value: Any) -> str | None:
    whole = isinstance(kind, inspect.IntType)
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        if _is_number(value) and (_is_whole(value) or not whole):
            return "send it without quotes"
        return "send a whole number" if whole else "send a number"
    if abs(value) > sys.float_info.max:
        return "send one below 1e308"
    if (kind.gt is not None and value <= kind.gt) or (kind.ge is not None and value < kind.ge):
        return "send a larger one"
    return "send a smaller one" if kind.le is not None and value > kind.le else None


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


def _is_whole(text: Any) -> bool:
    return float(text).is_integer()


@advice.register
def _(kind: inspect.StrType, value: Any) -> str | None:
    if not isinstance(value, str):
        return "send a text, in quotes"
    if kind.pattern is not None and re.search(kind.pattern, value) is None:
        return "choose another name"
    if len(value) < (kind.min_length or 0):
        return "send at least one character"
    if kind.max_length is not None and len(value) > kind.max_length:
        return f"it has {len(value)} characters, shorten it"
    return None


@advice.register
def _(_kind: inspect.BoolType, value: Any) -> str | None:
    return None if isinstance(value, bool) else "send one of these, without quotes"


@advice.register
def _(_kind: inspect.DictType, value: Any) -> str | None:
    return None if isinstance(value, dict) else "put what you have into one, in braces"


@advice.register
def _(kind: inspect.ListType, value: Any) -> str | None:
    return _list_advice(value, kind.min_length or 0, kind.max_length)


@advice.register
def _(kind: inspect.TupleType, value: Any) -> str | None:
    return _list_advice(value, len(kind.item_types), len(kind.item_types))


def _list_advice(value: Any, least: int, most: int | None) -> str | None:
    if not isinstance(value, list):
        return "put what you have into a list, in square brackets"
    if len(value) < least:
        return f"send {least - len(value)} more"
    return f"send {len(value) - most} fewer" if most is not None and len(value) > most else None
