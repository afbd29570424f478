"""What is wrong with a request, in words that say what would be right."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect

from foretell.errors import listed
from foretell.protocol.words import NAME

_PATTERN = re.compile(r"`str` matching regex '.*'")
_WORD = re.compile(r"Invalid enum value '.*' - at `\$\.(\w+)")


def in_words(error: msgspec.ValidationError, kind: Any) -> str:
    """Say what a value of `kind` may be where it is something else.

    >>> from foretell.protocol import ActionPatch
    >>> try:
    ...     msgspec.json.decode(b'{"status": "gone"}', type=ActionPatch)
    ... except msgspec.ValidationError as error:
    ...     print(in_words(error, ActionPatch))
    Invalid value 'gone', choose one of 'active', 'paused', 'retired' - at `$.status`
    """
    said = _PATTERN.sub(NAME, str(error))
    word = _WORD.match(said)
    if word is None or not isinstance(found := inspect.type_info(kind), inspect.StructType):
        return said
    values = [
        value
        for field in found.fields
        if field.encode_name == word[1]
        for value in _values(field.type)
    ]
    return said.replace("enum value", "value").replace(
        " - at `", f", choose one of {listed(map(str, values))} - at `"
    )


def _values(kind: inspect.Type) -> list[Any]:
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    if isinstance(kind, inspect.ListType):
        return _values(kind.item_type)
    if isinstance(kind, inspect.UnionType):
        return [value for one in kind.types for value in _values(one)]
    return []
