"""What goes wrong, as `application/problem+json` (RFC 9457); docs/problems.md explains each."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import inspect

from foretell import protocol
from foretell.errors import DamagedFile, InvalidInput, UnknownName, listed
from foretell.protocol.fields import NAME
from foretell.service.http.responses import Response, encode, log_failure
from foretell.service.log.errors import Damaged, LogClosed, NoRoom
from foretell.service.model.errors import (
    Forbidden,
    Internal,
    LogUnavailable,
    NoRoomForCopy,
    RequestProblem,
    StoredDamage,
    Unauthorized,
    Unusable,
)

PROBLEM = b"application/problem+json"
CHALLENGE = b'Bearer realm="foretell"'
_PATTERN = re.compile(r"`str` matching regex '.*'")
_ENUM = re.compile(r"Invalid enum value '.*' - at `\$\.(\w+)")


def problem_response(problem: RequestProblem, *headers: tuple[bytes, bytes]) -> Response:
    """Return the response that describes a problem."""
    body = protocol.ProblemDetails(
        type=f"urn:foretell:problem:{problem.name}",
        title=problem.title,
        status=problem.status,
        detail=str(problem),
    )
    extra = list(headers)
    if problem.retry_after is not None:
        extra.append((b"retry-after", b"%d" % problem.retry_after))
    if isinstance(problem, Unauthorized):
        extra.append((b"www-authenticate", CHALLENGE))
    elif isinstance(problem, Forbidden):
        extra.append((b"www-authenticate", CHALLENGE + b', error="insufficient_scope"'))
    return Response(problem.status, encode(body), extra, PROBLEM)


def error_response(error: Exception, operation: str) -> Response:
    """Return the response to what was raised; what nobody foresaw is logged and not shown."""
    if isinstance(error, LogClosed):
        error = LogUnavailable(str(error))
    elif isinstance(error, NoRoom):
        error = NoRoomForCopy(str(error))
    elif isinstance(error, Damaged):
        error = StoredDamage(str(error))
    if isinstance(error, RequestProblem):
        if error.status == 500:
            log_failure(error, operation)
        return problem_response(error)
    if isinstance(error, InvalidInput | UnknownName | DamagedFile):
        return problem_response(Unusable(str(error)))
    log_failure(error, operation)
    return problem_response(Internal("the service failed at this request: its log says where"))


def validation_sentence(error: msgspec.ValidationError, kind: Any) -> str:
    """Return the sentence that says what a value of `kind` may be where it is something else.

    >>> from foretell.protocol import ActionPatch
    >>> try:
    ...     msgspec.json.decode(b'{"status": "gone"}', type=ActionPatch)
    ... except msgspec.ValidationError as error:
    ...     print(validation_sentence(error, ActionPatch))
    Invalid value 'gone', choose one of 'active', 'paused', 'retired' - at `$.status`
    """
    sentence = _PATTERN.sub(NAME, str(error))
    enum = _ENUM.match(sentence)
    if enum is None or not isinstance(found := inspect.type_info(kind), inspect.StructType):
        return sentence
    values = [
        value
        for field in found.fields
        if field.encode_name == enum[1]
        for value in _allowed_values(field.type)
    ]
    return sentence.replace("enum value", "value").replace(
        " - at `", f", choose one of {listed(map(str, values))} - at `"
    )


def _allowed_values(kind: inspect.Type) -> list[Any]:
    if isinstance(kind, inspect.LiteralType):
        return list(kind.values)
    if isinstance(kind, inspect.ListType):
        return _allowed_values(kind.item_type)
    if isinstance(kind, inspect.UnionType):
        return [value for one in kind.types for value in _allowed_values(one)]
    return []
