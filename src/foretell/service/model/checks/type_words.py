"""Types and values in words, as sentences about a field need them."""

from __future__ import annotations

import json
from functools import singledispatch
from typing import Any

from msgspec import inspect

from foretell.errors import listed
from foretell.protocol.fields import NAME

SHOWN = 60
"""Characters of a value that a sentence shows."""


@singledispatch
def type_words(_kind: inspect.Type) -> str:
    """Return what a type is, in words."""
    return "an object"


@type_words.register
def _(kind: inspect.UnionType) -> str:
    return type_words(not_none(kind))


@type_words.register
def _(kind: inspect.Metadata) -> str:
    unit = (kind.extra or {}).get("unit")
    words = type_words(kind.type)
    return words if unit is None else words.replace("number", f"number of {unit}", 1)


@type_words.register
def _(kind: inspect.LiteralType) -> str:
    return f"one of {listed(map(str, kind.values))}"


@type_words.register
def _(kind: inspect.StrType) -> str:
    return NAME if kind.pattern else f"a text{_size(kind, 'characters')}"


@type_words.register(inspect.FloatType)
@type_words.register(inspect.IntType)
def _(kind: inspect.FloatType | inspect.IntType) -> str:
    return f"a {'whole ' * isinstance(kind, inspect.IntType)}number{_range(kind)}"


@type_words.register
def _(_kind: inspect.BoolType) -> str:
    return "true or false"


@type_words.register
def _(kind: inspect.ListType) -> str:
    return f"a list{_size(kind, 'items')}, each {type_words(kind.item_type)}"


@type_words.register
def _(kind: inspect.TupleType) -> str:
    return f"a list of {len(kind.item_types)}, each {type_words(kind.item_types[0])}"


def not_none(kind: inspect.UnionType) -> inspect.Type:
    """Return the type of a value that may also be null."""
    return next(one for one in kind.types if not isinstance(one, inspect.NoneType))


def _size(kind: inspect.StrType | inspect.ListType, what: str) -> str:
    return (
        "" if kind.max_length is None else f" of {kind.min_length or 0} to {kind.max_length} {what}"
    )


def _range(kind: inspect.FloatType | inspect.IntType) -> str:
    low = "" if kind.gt is None else f" above {kind.gt:g}"
    low = low if kind.ge is None else f" of at least {kind.ge:g}"
    high = "" if kind.le is None else f"at most {kind.le:,}"
    return low + (" and " if low and high else " of " if high else "") + high


def shown(value: Any) -> str:
    """Return a value as a sentence shows it: whole, or the beginning of a long one.

    >>> shown("a"), shown(None), shown([1, 2]), shown("x" * 100)[-4:]
    ("'a'", 'null', 'a list of 2', 'xxx…')
    """
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int | float) and abs(value) >= 1e308:
        return "a number beyond 1e308"
    text = repr(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
