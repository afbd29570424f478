"""What can go wrong with a request, each with its name and its status (RFC 9457).

The name ends the `type` of a problem, and docs/problems.md says what to do about each.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from foretell.errors import ForetellError
from foretell.protocol import FieldError


class RequestProblem(ForetellError):
    """A request that cannot be done."""

    name: ClassVar[str] = "problem"
    title: ClassVar[str] = "The request cannot be done"
    status: ClassVar[int] = 400
    retry_after: int | None = None

    def __init__(
        self, detail: str, *, field: str | None = None, errors: Iterable[FieldError] = ()
    ) -> None:
        """Take a sentence, and the field that it is about, or what is wrong with each field."""
        super().__init__(detail)
        self.errors = list(errors) if field is None else [FieldError(field, detail)]


class BadRequest(RequestProblem):
    """What came is no HTTP, or says two things at once."""

    name = "bad-request"
    title = "The request cannot be read"


class Malformed(RequestProblem):
    """The body cannot be read at all."""

    name = "malformed"
    title = "The body cannot be read"


class Unauthorized(RequestProblem):
    """No key came with the request, or one that is not valid."""

    name = "unauthorized"
    title = "A valid key is needed"
    status = 401


class Forbidden(RequestProblem):
    """The key is valid but may not do this."""

    name = "forbidden"
    title = "The key may not do this"
    status = 403


class NotFound(RequestProblem):
    """There is no such thing."""

    name = "not-found"
    title = "There is no such thing"
    status = 404


class WrongMethod(RequestProblem):
    """The address exists, but not with this method."""

    name = "wrong-method"
    title = "Not with this method"
    status = 405


class TimedOut(RequestProblem):
    """The rest of a request did not come in time."""

    name = "timeout"
    title = "The request did not come in time"
    status = 408


class Conflict(RequestProblem):
    """The request does not fit the present state."""

    name = "conflict"
    title = "Not in this state"
    status = 409


class Stale(RequestProblem):
    """It was changed since it was read."""

    name = "stale"
    title = "It was changed since it was read"
    status = 412


class TooLarge(RequestProblem):
    """There is more in the request than is taken at once."""

    name = "too-large"
    title = "The request is too large"
    status = 413


class AddressTooLong(RequestProblem):
    """The address of a request is longer than any that is known."""

    name = "address-too-long"
    title = "The address is too long"
    status = 414


class WrongMedia(RequestProblem):
    """The body is of a kind that is not read here."""

    name = "wrong-media"
    title = "A body of this kind is not read here"
    status = 415


class Unusable(RequestProblem):
    """The body can be read, but its content cannot be used."""

    name = "unusable"
    title = "The body cannot be used"
    status = 422


class BadParameter(RequestProblem):
    """A parameter of the query cannot be used."""

    name = "bad-parameter"
    title = "A parameter cannot be used"
    status = 422


class Overloaded(RequestProblem):
    """As many requests as can be served are being served."""

    name = "overloaded"
    title = "Too many requests at once"
    status = 429
    retry_after = 1


class OverBudget(RequestProblem):
    """The key has used up what it may use in a second."""

    name = "over-budget"
    title = "The key has used up its budget"
    status = 429
    retry_after = 1

    def __init__(self, detail: str, retry_after: int) -> None:
        """Say after how many seconds there will be something to use again."""
        super().__init__(detail)
        self.retry_after = retry_after


class HeadersTooLarge(RequestProblem):
    """There are more headers, or longer ones, than are read."""

    name = "headers-too-large"
    title = "The headers are too large"
    status = 431


class Internal(RequestProblem):
    """The service failed, and not because of the request."""

    name = "internal"
    title = "The service failed"
    status = 500


class StoredDamage(RequestProblem):
    """Something that is stored, and that the request needs, is damaged."""

    name = "damaged"
    title = "A stored record is damaged"
    status = 500


class LogUnavailable(RequestProblem):
    """The log cannot be written now, so nothing is taken in; or what was read of it may be old."""

    name = "log-closed"
    title = "The log cannot be used now"
    status = 503
    retry_after = 1

    def __init__(self, detail: str, action: str | None = None) -> None:
        """Say why; `action` is what the policy would choose, as far as it is known."""
        super().__init__(detail)
        self.action = action


class NoRoomForCopy(RequestProblem):
    """There is no room for a copy, or it may not be written."""

    name = "no-room"
    title = "A copy cannot be written"
    status = 507


class NotInstalled(RequestProblem):
    """The service lacks an optional part that this needs."""

    name = "not-installed"
    title = "A part of the service is not installed"
    status = 501


class UnknownCoding(RequestProblem):
    """The body is coded on its way, in a manner that is not read."""

    name = "unknown-coding"
    title = "A body that is coded so is not read here"
    status = 501
