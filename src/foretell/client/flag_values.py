"""The value that a flag has by an action: one that was given for it, or its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from foretell.errors import InvalidInput

FlagKind: TypeAlias = Literal["boolean", "string", "integer", "float", "object"]
FlagValue: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any]
_SWITCHES = {"on": True, "true": True, "off": False, "false": False}
_WORDS = {
    "boolean": "true or false",
    "string": "a text",
    "integer": "a whole number",
    "float": "a number",
    "object": "a list or a mapping",
}
_NUMBERS: dict[str, type[int | float]] = {"integer": int, "float": float}


class WrongKind(InvalidInput):
    """A value that is not what the flag was asked for as."""


def flag_value(kind: FlagKind, action: str, values: Mapping[str, FlagValue]) -> Any:
    """Return the value of an action, or raise WrongKind.

    >>> flag_value("boolean", "on", {}), flag_value("integer", "20", {})
    (True, 20)
    >>> flag_value("object", "sale", {"sale": {"colour": "red"}})
    {'colour': 'red'}
    >>> flag_value("integer", "sale", {})
    Traceback (most recent call last):
    foretell.client.flag_values.WrongKind: its action 'sale' must be a whole number, got 'sale': \
give it one in the provider's values
    """
    value: Any = values.get(action, action)
    found = _by_name(kind, value) if action not in values else value
    if kind == "float" and isinstance(found, int) and not isinstance(found, bool):
        found = float(found)
    kinds: dict[str, Any] = {
        "boolean": bool,
        "string": str,
        "integer": int,
        "float": float,
        "object": (list, dict),
    }
    if isinstance(found, kinds[kind]) and (kind == "boolean" or not isinstance(found, bool)):
        return found
    raise WrongKind(
        f"its action {action!r} must be {_WORDS[kind]}, got {value!r}: "
        f"give it one in the provider's values"
    )


def _by_name(kind: FlagKind, action: str) -> Any:
    """Return what the name of an action says, or the name."""
    if kind == "boolean":
        return _SWITCHES.get(action.casefold(), action)
    if kind in _NUMBERS and "_" not in action:
        try:
            return _NUMBERS[kind](action)
        except ValueError:
            return action
    return action
