"""What can be set of a policy: its fields, their defaults, and the values that they take.

The values are those that the spec itself accepts: a field is tried with values that hardly any
field takes, and what the spec answers says what it wants. So the sentence is written once, where
it is checked.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, NamedTuple

from foretell.errors import ForetellError

if TYPE_CHECKING:
    from foretell.policies.spec import Spec

_STRANGE = ("a text", -1, -1.5, 1e300, 1, None)
"""Values of which a field refuses one or another."""


class SpecField(NamedTuple):
    """One field of a spec."""

    name: str
    kind: str
    """Its type, as annotated."""
    default: str
    """As it is written; empty where it has to be given."""
    values: str
    """What it must be, in words; empty where the spec checks nothing."""


def spec_fields(spec: type[Spec]) -> list[SpecField]:
    """Return the fields of a policy, in order.

    >>> from foretell.policies import Ucb
    >>> for field in spec_fields(Ucb):
    ...     print(field.name, field.default, field.values, sep="; ")
    scale; 1.0; a finite number of at least 0
    """
    return [
        SpecField(
            field.name,
            str(field.type),
            "" if field.default is dataclasses.MISSING else repr(field.default),
            _values(spec, field.name),
        )
        for field in dataclasses.fields(spec)
    ]


def _values(spec: type[Spec], name: str) -> str:
    """Return what a spec says that a field must be."""
    fields = dataclasses.fields(spec)
    needed = {field.name: 1 for field in fields if field.default is dataclasses.MISSING}
    switched_on = needed | {field.name: True for field in fields if field.default is False}
    found: dict[str, None] = {}
    for others in (switched_on, needed):  # some fields mean something with a switch on only
        for value in _STRANGE:
            try:
                spec(**{**others, name: value})
            except ForetellError as error:
                said = re.match(rf"(?:{name} )?(.*?),? got ", str(error))
                if said:
                    found[said[1].removeprefix("must be ").removeprefix("is ")] = None
            except Exception:  # noqa: BLE001, S112  a spec that fails otherwise says nothing
                continue
        if found:
            break
    return "; ".join(found)
