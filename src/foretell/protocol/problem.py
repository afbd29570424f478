"""The body of every answer that refuses a request."""

from __future__ import annotations

from msgspec import Struct


class FieldError(Struct):
    """What is wrong with one field of a request."""

    field: str
    """Its name, as in `actions[2]`; `body` where it is none of them."""
    detail: str
    """A sentence: what it must be, what was sent, what to do."""


class ProblemDetails(Struct, omit_defaults=True):
    """An error, as RFC 9457 writes it."""

    type: str
    """Which problem it is, as an address that does not change."""
    title: str
    """The same in a few words."""
    status: int
    """The HTTP status."""
    detail: str
    """A sentence for people: what is wrong, what was sent, what to do."""
    instance: str | None = None
    """Which request it was, where that is said."""
    errors: list[FieldError] | None = None
    """Everything that is wrong with the fields of the request, in one answer."""
    action: str | None = None
    """What the policy would choose now, where a decision cannot be written: it is not counted."""
