"""What can be set of a policy, or of a part of a scenario: fields, defaults, values, meanings.

The values are those that the class itself accepts: a field is tried with values that hardly any
field takes, and what the class answers says what it wants. So the sentence is written once, where
it is checked. The meaning is the text under the field.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from foretell.errors import ForetellError
from foretell.field_texts import field_texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from foretell.policies.spec import Spec

_STRANGE = ("a text", -1, -1.5, 1e300, 1, None)
"""Values of which a field refuses one or another."""
_WANTED = re.compile(r"(?:^|.*? )(?:must be|must lie|is|says|are|needs) (.*?)[,:]? got ")


class SpecField(NamedTuple):
    """One field of a spec."""

    name: str
    kind: str
    """Its type, as annotated."""
    default: str
    """As it is written; empty where it has to be given."""
    values: str
    """What it must be, in words; empty where nothing is checked."""
    meaning: str
    """What it is, in words; empty where its class does not say it."""


def spec_fields(spec: type[Spec]) -> list[SpecField]:
    """Return the fields of a policy, in the order in which its text has them.

    >>> from foretell.policies import Ucb
    >>> for field in spec_fields(Ucb):
    ...     print(field.name, field.default, field.values, field.meaning, sep="; ")
    scale; 1.0; a finite number of at least 0; Factor of the confidence radius; 1 is UCB1.
    """
    fields = sorted(dataclasses.fields(spec), key=lambda field: field.kw_only is True)
    needed = {field.name: 1 for field in fields if field.default is dataclasses.MISSING}
    switched_on = needed | {field.name: True for field in fields if field.default is False}
    meanings = field_texts(spec)
    return [
        SpecField(
            field.name,
            str(field.type),
            "" if field.default is dataclasses.MISSING else repr(field.default),
            _wanted(  # some fields mean something with a switch on only
                lambda value, name=field.name: spec(**{**switched_on, name: value}),
                lambda value, name=field.name: spec(**{**needed, name: value}),
            )
            or ("True or False" if field.type == "bool" else ""),
            meanings.get(field.name, ""),
        )
        for field in fields
    ]


def part_fields(example: msgspec.Struct) -> list[SpecField]:
    """Return the fields of a part of a scenario, by an example of it.

    >>> from foretell.worlds.delays import GeometricDelay
    >>> for field in part_fields(GeometricDelay(500)):
    ...     print(field.name, field.default, field.values, field.meaning, sep="; ")
    average; ; a finite number above 0; The mean delay in rounds.
    lost; 0.0; in [0, 1); Share of the rewards that never arrive.
    """
    kind = type(example)
    given = {name: getattr(example, name) for name in kind.__struct_fields__}
    meanings = field_texts(kind)
    return [
        SpecField(
            field.name,
            _annotation(kind, field.name),
            "" if field.default is msgspec.NODEFAULT else repr(field.default),
            _wanted(lambda value, name=field.name: kind(**{**given, name: value})),
            meanings.get(field.name, ""),
        )
        for field in msgspec.structs.fields(kind)
    ]


def _annotation(kind: type, name: str) -> str:
    """Return the type of a field as it is written."""
    found = (inspect.get_annotations(base).get(name) for base in kind.__mro__)
    return str(next(filter(None, found)))


def _wanted(*makers: Callable[..., object]) -> str:
    """Return what a class says that a field must be, by the first maker that says something."""
    for make in makers:
        found = dict.fromkeys(filter(None, map(_said, _refusals(make))))
        if found:
            return "; ".join(found)
    return ""


def _refusals(make: Callable[[Any], object]) -> Iterable[str]:
    """Yield what is said about values that are refused."""
    for value in _STRANGE:
        try:
            make(value)
        except ForetellError as error:
            yield str(error)
        except Exception:  # noqa: BLE001, S112  a class that fails otherwise says nothing
            continue


def _said(sentence: str) -> str:
    """Return what a refusal says that a value must be; nothing where it does not say it."""
    said = _WANTED.match(sentence)
    return said[1] if said else ""
