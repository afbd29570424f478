"""What is wrong with the body of a request, field by field, in sentences for people.

The parser stops at the first thing that is wrong, and says it in words of its own. So a body that
it refuses is read a second time, as plain values, and every field is compared with its type.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NoReturn, TypeAlias

import msgspec
from msgspec import inspect

from foretell.errors import UnknownName
from foretell.protocol import FieldError
from foretell.service.model.checks.plain_json import plain_values
from foretell.service.model.checks.type_advice import advice
from foretell.service.model.checks.type_words import SHOWN, not_none, shown, type_words
from foretell.service.model.errors import Malformed, Unusable

Rules: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], list[FieldError]]
_rules: dict[Any, Rules] = {}
MAX_ERRORS = 20
"""Errors that one answer names."""
_WHOLE = re.compile("-?[0-9]{1,30}")


def refuse_json(
    kind: Any, body: bytes | msgspec.Raw, error: msgspec.DecodeError | UnicodeDecodeError
) -> NoReturn:
    """Raise Malformed for what is no JSON, and Unusable with every error for what is no `kind`."""
    values = plain_values(bytes(body))
    if isinstance(error, msgspec.ValidationError):
        found = field_errors(kind, values)
        refuse([*found, *_broken_rules(kind, values, found)])
    raise Malformed("a text in the body is no Unicode, as with half of a surrogate pair: mend it")


def rules_of(kind: Any) -> Callable[[Rules], Rules]:
    """Register what else is checked of a body than the types of its fields.

    The function is given the fields whose types are right, and those whose types are wrong. It
    returns what else is wrong, and nothing that only follows from a wrong type.
    """

    def register(rules: Rules) -> Rules:
        _rules[kind] = rules
        return rules

    return register


def _broken_rules(kind: Any, values: Any, found: list[FieldError]) -> list[FieldError]:
    all_found = len(found) <= MAX_ERRORS
    if kind not in _rules or not isinstance(values, dict) or not all_found:
        return []
    wrong = {re.split(r"[\[.]", one.field)[0] for one in found}
    sound = {name: value for name, value in values.items() if name not in wrong}
    return _rules[kind](sound, {name: values.get(name) for name in wrong})


def refuse(errors: Iterable[FieldError]) -> NoReturn:
    """Raise Unusable with every error: in a sentence, and field by field."""
    found = list(errors)
    if not found:
        raise Unusable("the body cannot be used: compare it with what /docs says about it")
    sentence = found[0].detail
    if len(found) > 1:
        count = f"more than {MAX_ERRORS}" if len(found) > MAX_ERRORS else str(len(found))
        details = "; ".join(one.detail for one in found[:MAX_ERRORS])
        sentence = f"{count} things are wrong: {details}"
    raise Unusable(sentence, errors=found[:MAX_ERRORS])


def field_errors(kind: Any, value: Any) -> list[FieldError]:
    """Return what keeps plain values from being of a type, and no more of it than is told.

    >>> from foretell.protocol import ActionPatch
    >>> field_errors(ActionPatch, {"status": "retire"})[0].detail
    "status must be one of 'active', 'paused', 'retired', got 'retire': did you mean 'retired'?"
    >>> field_errors(ActionPatch, {"statut": "paused"})[0].detail
    "there is no field 'statut': did you mean 'status'?"
    """
    return list(islice(_errors(inspect.type_info(kind), value, ""), MAX_ERRORS + 1))


def query_errors(kind: Any, values: dict[str, str]) -> list[FieldError]:
    """Return what is wrong with the parameters of a query, in which a number is a text."""
    numbers = {name: int(text) for name, text in values.items() if _WHOLE.fullmatch(text)}
    return field_errors(kind, values | numbers)


def _errors(kind: inspect.Type, value: Any, field: str) -> Iterator[FieldError]:
    """Yield what is wrong with a value, and with what is in it."""
    if isinstance(kind, inspect.StructType):
        yield from _struct_errors(kind, value, field)
        return
    if isinstance(kind, inspect.UnionType):
        if value is None:
            return
        kind = _fitting(kind, value)
    wrong = advice(kind, value)
    if wrong is not None:
        yield _error(field, f"must be {type_words(kind)}, got {shown(value)}: {wrong}")
        return
    if isinstance(kind, inspect.DictType):
        for name, item in value.items():
            for error in _errors(kind.key_type, name, f"a name in {field}"):
                yield FieldError(field, error.detail)
            yield from _errors(kind.value_type, item, f"{field}.{name[:SHOWN]}")
        return
    items = _item_types(kind, value)
    for index, item in enumerate(items):
        yield from _errors(item, value[index], f"{field}[{index}]")


def _struct_errors(kind: inspect.StructType, value: Any, field: str) -> Iterator[FieldError]:
    known = {one.encode_name: one for one in kind.fields}
    if not isinstance(value, dict):
        names = ", ".join(known) or "none"
        yield _error(field, f"must be an object, got {shown(value)}: its fields are {names}")
        return
    prefix = f"{field}." if field else ""
    for name in value:
        if name not in known and kind.forbid_unknown_fields:
            cut = name[:SHOWN].encode(errors="replace").decode()  # half a surrogate pair
            yield FieldError(prefix + cut, _unknown(cut, known, kind.cls, field))
    for name, one in known.items():
        if name in value:
            yield from _errors(one.type, value[name], prefix + name)
        elif one.required:
            yield _error(prefix + name, f"is missing: send {type_words(one.type)}")


def _item_types(kind: inspect.Type, value: Any) -> list[inspect.Type]:
    if isinstance(kind, inspect.ListType):
        return [kind.item_type] * len(value)
    return list(kind.item_types) if isinstance(kind, inspect.TupleType) else []


def _unknown(name: str, known: Iterable[str], kind: Any, where: str) -> str:
    names, where = list(known), f"in {where}" if where else ""
    elsewhere = getattr(kind, "elsewhere", {})
    if name in elsewhere:
        return f"there is no field {shown(name)} here: {elsewhere[name]}"
    if not names:
        return f"there is no field {shown(name)}: this body has none, leave it out"
    return str(UnknownName.of("field", name, names, where))


def _error(field: str, said: str) -> FieldError:
    return FieldError(field or "body", f"{field or 'the body'} {said}")


def _fitting(kind: inspect.UnionType, value: Any) -> inspect.Type:
    """Return of several types the one that a value looks like, to say what is wrong with it."""
    objects = [one for one in kind.types if isinstance(one, inspect.DictType)]
    return objects[0] if isinstance(value, dict) and objects else not_none(kind)
