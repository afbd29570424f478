"""What goes wrong, as `application/problem+json` (RFC 9457); docs/problems.md tells of each."""

from __future__ import annotations

import logging
import traceback

from foretell import protocol
from foretell.errors import DamagedFile, InvalidInput, UnknownName
from foretell.service.http.access import CHALLENGE
from foretell.service.http.call import Reply, encode
from foretell.service.model.errors import (
    Forbidden,
    Internal,
    RequestProblem,
    Unauthorized,
    Unusable,
)

PROBLEM = b"application/problem+json"
_log = logging.getLogger("foretell.service")


def refuse(problem: RequestProblem, *headers: tuple[bytes, bytes]) -> Reply:
    """Write a problem down as the reply."""
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
    return Reply(problem.status, encode(body), extra, PROBLEM)


def reply_to(error: Exception, operation: str) -> Reply:
    """Turn what was raised into a reply; what nobody foresaw is logged and not told."""
    if isinstance(error, RequestProblem):
        if error.status == 500:
            log_failure(error, operation)
        return refuse(error)
    if isinstance(error, InvalidInput | UnknownName | DamagedFile):
        return refuse(Unusable(str(error)))
    log_failure(error, operation)
    return refuse(Internal("the service failed at this request: its log says where"))


def log_failure(error: BaseException, operation: str) -> None:
    """Log where an error arose and of which kind it is: its message may quote the request."""
    where = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed with %s at\n%s", operation, type(error).__qualname__, where)
