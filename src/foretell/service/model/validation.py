"""What is wrong with the body of a request, field by field, in sentences for people.

The parser stops at the first thing that is wrong, and says it in words of its own. So a body that
it refuses is read a second time, as plain values, and every field is compared with its type.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import singledispatch
from itertools import islice
from typing import Any, NoReturn, TypeAlias

import msgspec
from msgspec import inspect

from foretell.errors import LONG, UnknownName, listed
from foretell.protocol import FieldError
from foretell.protocol.fields import NAME
from foretell.service.model.errors import Malformed, Unusable

Rules: TypeAlias = Callable[[dict[str, Any]], list[FieldError]]
_rules: dict[Any, Rules] = {}
MAX_ERRORS = 20
"""Errors that one answer names."""
_SHOWN = 60
"""Characters of a value that a sentence shows."""
_WHOLE = re.compile("-?[0-9]{1,30}")


def refuse_json(
    kind: Any, body: bytes | msgspec.Raw, error: msgspec.DecodeError | UnicodeDecodeError
) -> NoReturn:
    """Raise Malformed for what is no JSON, and Unusable with every error for what is no `kind`."""
    values = _plain_values(bytes(body))
    if isinstance(error, msgspec.ValidationError):
        found = field_errors(kind, values)
        refuse([*found, *_broken_rules(kind, values, found)])
    raise Malformed("a text in the body is no Unicode, as with half of a surrogate pair: mend it")


def rules_of(kind: Any) -> Callable[[Rules], Rules]:
    """Register what else is checked of a body than the types of its fields.

    The function is given the fields whose types are right, and returns what is wrong with them.
    """

    def register(rules: Rules) -> Rules:
        _rules[kind] = rules
        return rules

    return register


def _broken_rules(kind: Any, values: Any, found: list[FieldError]) -> list[FieldError]:
    all_found = len(found) <= MAX_ERRORS
    if kind not in _rules or not isinstance(values, dict) or not all_found:
        return []
    wrong = {one.field.partition("[")[0] for one in found}
    sound = {name: value for name, value in values.items() if name not in wrong}
    return [one for one in _rules[kind](sound) if one.field in sound]


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
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _errors(kind: inspect.Type, value: Any, field: str) -> Iterator[FieldError]:
    """Yield what is wrong with a value, and with what is in it."""
    if isinstance(kind, inspect.StructType):
        yield from _struct_errors(kind, value, field)
        return
    if isinstance(kind, inspect.UnionType):
        if value is None:
            return
        kind = _not_none(kind)
    advice = _advice(kind, value)
    if advice is not None:
        yield _error(field, f"must be {_words(kind)}, got {shown(value)}: {advice}")
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
            cut = name[:_SHOWN].encode(errors="replace").decode()  # half a surrogate pair
            yield FieldError(prefix + cut, _unknown(cut, known, kind.cls))
    for name, one in known.items():
        if name in value:
            yield from _errors(one.type, value[name], prefix + name)
        elif one.required:
            yield _error(prefix + name, f"is missing: send {_words(one.type)}")


def _unknown(name: str, known: Iterable[str], kind: Any) -> str:
    names = list(known)
    elsewhere = getattr(kind, "elsewhere", {})
    if name in elsewhere:
        return f"there is no field {shown(name)} here: {elsewhere[name]}"
    if not names:
        return f"there is no field {shown(name)}: this body has none, leave it out"
    return str(UnknownName.of("field", name, names))


def _error(field: str, said: str) -> FieldError:
    return FieldError(field or "body", f"{field or 'the body'} {said}")


@singledispatch
def _advice(_kind: inspect.Type, _value: Any) -> str | None:
    """Return what to do about a value that is not of a type; None: it is one.

    What is in a list is not looked at.
    """
    return None


@_advice.register
def _(kind: inspect.Metadata, value: Any) -> str | None:
    return _advice(kind.type, value)


@_advice.register
def _(kind: inspect.LiteralType, value: Any) -> str | None:
    words = [str(one) for one in kind.values]
    if value in words:
        return None
    short = isinstance(value, str) and len(value) <= LONG
    close = difflib.get_close_matches(value, words, n=1, cutoff=0.6) if short else []
    return f"did you mean {close[0]!r}?" if close else "choose one of them"


@_advice.register(inspect.FloatType)
@_advice.register(inspect.IntType)
def _(kind: inspect.FloatType | inspect.IntType, value: Any) -> str | None:
    numbers = int if isinstance(kind, inspect.IntType) else int | float
    if isinstance(value, bool) or not isinstance(value, numbers):
        return "send it without quotes" if _is_number(value) else "send a number"
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


@_advice.register
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


@_advice.register
def _(_kind: inspect.BoolType, value: Any) -> str | None:
    return None if isinstance(value, bool) else "send one of these, without quotes"


@_advice.register
def _(_kind: inspect.DictType, value: Any) -> str | None:
    return None if isinstance(value, dict) else "put what you have into one, in braces"


@_advice.register
def _(kind: inspect.ListType, value: Any) -> str | None:
    return _list_advice(value, kind.min_length or 0, kind.max_length)


@_advice.register
def _(kind: inspect.TupleType, value: Any) -> str | None:
    return _list_advice(value, len(kind.item_types), len(kind.item_types))


def _list_advice(value: Any, least: int, most: int | None) -> str | None:
    if not isinstance(value, list):
        return "put what you have into a list, in square brackets"
    if len(value) < least:
        return f"send {least - len(value)} more"
    return f"send {len(value) - most} fewer" if most is not None and len(value) > most else None


def _item_types(kind: inspect.Type, value: Any) -> list[inspect.Type]:
    if isinstance(kind, inspect.ListType):
        return [kind.item_type] * len(value)
    return list(kind.item_types) if isinstance(kind, inspect.TupleType) else []


@singledispatch
def _words(_kind: inspect.Type) -> str:
    """Return what a type is, in words."""
    return "an object"


@_words.register
def _(kind: inspect.UnionType) -> str:
    return _words(_not_none(kind))


@_words.register
def _(kind: inspect.Metadata) -> str:
    unit = (kind.extra or {}).get("unit")
    words = _words(kind.type)
    return words if unit is None else words.replace("number", f"number of {unit}", 1)


@_words.register
def _(kind: inspect.LiteralType) -> str:
    return f"one of {listed(map(str, kind.values))}"


@_words.register
def _(kind: inspect.StrType) -> str:
    return NAME if kind.pattern else f"a text{_size(kind, 'characters')}"


@_words.register(inspect.FloatType)
@_words.register(inspect.IntType)
def _(kind: inspect.FloatType | inspect.IntType) -> str:
    return f"a {'whole ' * isinstance(kind, inspect.IntType)}number{_range(kind)}"


@_words.register
def _(_kind: inspect.BoolType) -> str:
    return "true or false"


@_words.register
def _(kind: inspect.ListType) -> str:
    return f"a list{_size(kind, 'items')}, each {_words(kind.item_type)}"


@_words.register
def _(kind: inspect.TupleType) -> str:
    return f"a list of {len(kind.item_types)}, each {_words(kind.item_types[0])}"


def _not_none(kind: inspect.UnionType) -> inspect.Type:
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


def _plain_values(body: bytes) -> Any:
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
