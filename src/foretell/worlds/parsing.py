"""Reading the parts of a scenario from plain data, with errors that name the nearest right word."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from foretell.errors import InvalidInput, UnknownName


def read_tagged(tag: str, plain: Any, union: Any) -> Any:
    """Read one of the structs of a union, told apart by its `tag` field.

    >>> from foretell.worlds.delays import Delay
    >>> read_tagged("family", {"family": "uniform", "low": 0, "high": 9}, Delay)
    UniformDelay(low=0, high=9, lost=0.0)
    """
    kinds = {kind.__struct_config__.tag: kind for kind in get_args(union)}
    if not isinstance(plain, dict) or tag not in plain:
        raise InvalidInput(
            f"cannot read {plain!r}: it must be a table with the key {tag!r}, "
            f"one of {', '.join(repr(kind) for kind in kinds)}"
        )
    if plain[tag] not in kinds:
        raise UnknownName.of(tag, str(plain[tag]), kinds)
    kind = kinds[plain[tag]]
    for field in plain:
        if field != tag and field not in kind.__struct_fields__:
            raise UnknownName.of("field", field, kind.__struct_fields__, f"of {plain[tag]!r}")
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"cannot read {plain[tag]!r}: {error}") from None
