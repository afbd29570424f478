"""What goes wrong, as `application/problem+json` (RFC 9457); docs/problems.md explains each."""

from __future__ import annotations

import logging

from foretell import protocol
from foretell.errors import DamagedFile, InvalidInput, UnknownName
from foretell.service.http.responses import Response, encode, log_failure
from foretell.service.log.errors import (
    Damaged,
    DatabaseRefused,
    LogClosed,
    NoRoom,
    said_outside,
)
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

_log = logging.getLogger("foretell.service")
PROBLEM = b"application/problem+json"
CHALLENGE = b'Bearer realm="foretell"'


def problem_response(problem: RequestProblem, *headers: tuple[bytes, bytes]) -> Response:
    """Return the response that describes a problem."""
    body = protocol.ProblemDetails(
        type=f"urn:foretell:problem:{problem.name}",
        title=problem.title,
        status=problem.status,
        detail=str(problem),
        errors=problem.errors or None,
        action=problem.action if isinstance(problem, LogUnavailable) else None,
    )
    extra = list(headers)
    if problem.retry_after is not None:
        extra.append((b"retry-after", b"%d" % problem.retry_after))
    if isinstance(problem, Unauthorized):
        extra.append((b"www-authenticate", CHALLENGE))
    elif isinstance(problem, Forbidden):
        extra.append((b"www-authenticate", CHALLENGE + b', error="insufficient_scope"'))
    return Response(problem.status, encode(body), extra, PROBLEM)


def error_response(error: Exception, operation: str, request_id: str | None = None) -> Response:
    """Return the response to what was raised."""
    return problem_response(problem_of(error, operation, request_id))


def problem_of(error: Exception, operation: str, request_id: str | None = None) -> RequestProblem:
    """Return what was raised as a problem; what nobody foresaw is logged and not shown."""
    if isinstance(error, LogClosed | DatabaseRefused):
        plain = said_outside(error)
        if plain != str(error):
            _log.warning("%s could not be done: %s", operation, error)
        error = LogUnavailable(plain, error.action if isinstance(error, LogClosed) else None)
    elif isinstance(error, NoRoom):
        error = NoRoomForCopy(str(error))
    elif isinstance(error, Damaged):
        error = StoredDamage(str(error))
    if isinstance(error, RequestProblem):
        if error.status == 500:
            log_failure(error, operation, request_id)
        return error
    if isinstance(error, InvalidInput | UnknownName | DamagedFile):
        return Unusable(str(error))
    log_failure(error, operation, request_id)
    return Internal("the service failed at this request: its log says where")
