"""What an operation is: one row of the table that makes the routes and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from foretell import protocol
from foretell.service.http.call import JSON, Call, Reply
from foretell.service.http.query import NoQuery
from foretell.service.model.errors import RequestProblem

Handler: TypeAlias = Callable[[Call], Awaitable[Reply]]


class Success(Struct, frozen=True):
    """An answer that says that it is done."""

    status: int
    what: str
    kind: Any = None
    """The type of a JSON body."""
    headers: tuple[str, ...] = ()
    media: tuple[bytes, ...] = (JSON,)
    """Media types of a body; more than one, or none at all, only where there is no `kind`."""
    links: tuple[tuple[str, str, str], ...] = ()
    """What can be done next: an operation, its parameter, the field of the answer to take."""


class Operation(Struct, frozen=True):
    """One thing that can be asked for, at a method and a path."""

    name: str
    method: str
    path: str
    handler: Handler
    summary: str
    answers: tuple[Success, ...]
    group: str
    scope: protocol.Scope | None = None
    """What a key must allow, unless it allows everything; None: no key is needed."""
    request: Any = None
    """The type of the body; None: there is none."""
    reads: Literal["parsed", "bytes", "stream"] = "parsed"
    """How the handler gets the body."""
    media: tuple[bytes, ...] = (JSON,)
    """Media types that a body may have."""
    optional: bool = False
    """Whether no body at all means the defaults."""
    query: type[protocol.RequestBody] | None = NoQuery
    """The parameters after `?`; None: whatever stands there is passed over."""
    if_match: bool = False
    raises: tuple[type[RequestProblem], ...] = ()
    """What the engine may refuse with, apart from a closed log."""
    example: Any = None
    """A body to show."""
