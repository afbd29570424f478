"""What an operation is: its row in the table of routes, its handler, and what that is given."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import Receive, Scope

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http.admission import Admission
from foretell.service.http.bodies import JSON
from foretell.service.http.limits import Limits
from foretell.service.http.metrics import Metrics
from foretell.service.http.queries import NoQuery
from foretell.service.http.responses import Response
from foretell.service.model.errors import Conflict, NotFound, RequestProblem, Unusable
from foretell.service.model.events import Author
from foretell.service.model.keys import Caller

CAMPAIGN = "/v1/campaigns/{campaign}"
DECISION = "/v1/decisions/{decision}"


class AppState:
    """What all requests have in common."""

    __slots__ = ("admission", "docs_page", "document", "engine", "limits", "metrics")

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        metrics: Metrics,
        document: Callable[[], bytes],
        docs_page: Callable[[], bytes],
    ) -> None:
        """Start with no request in flight; `document` makes OpenAPI's, `docs_page` shows it."""
        self.engine = engine
        self.limits = limits
        self.metrics = metrics
        self.document = document
        self.docs_page = docs_page
        self.admission = Admission(limits)


class RequestContext(NamedTuple):
    """A request whose key was accepted; `body` and `query` have the types of its operation."""

    state: AppState
    engine: Engine
    params: dict[str, str]
    """The parameters in the path."""
    scope: Scope
    body: Any
    query: Any
    receive: Receive
    caller: Caller | None
    """Whose key it was; None where no key is needed."""

    @property
    def author(self) -> Author | None:
        """What the log calls the key, if it changes something."""
        return None if self.caller is None else self.caller.author

    @property
    def own(self) -> str | None:
        """The campaign that the key is for alone; None: all of them."""
        return None if self.caller is None else self.caller.campaign

    def may_use(self, campaign: str) -> bool:
        """Return whether a campaign is one that the key is for."""
        return self.caller is None or self.caller.may_use(campaign)


Handler: TypeAlias = Callable[[RequestContext], Awaitable[Response]]


class Success(Struct, frozen=True):
    """A successful response."""

    status: int
    what: str
    kind: Any = None
    """The type of a JSON body."""
    headers: tuple[str, ...] = ()
    media: tuple[bytes, ...] = (JSON,)
    """Media types of a body; more than one, or none at all, only where there is no `kind`."""
    links: tuple[tuple[str, str, str], ...] = ()
    """What can be done next: an operation, its parameter, the field of the body to take."""


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
    each_campaign: bool = False
    """Whether it is about any number of campaigns, and the handler leaves out those that a key is
    not for."""
    request: Any = None
    """The type of the body; None: there is none."""
    reads: Literal["parsed", "bytes", "stream"] = "parsed"
    """How the handler gets the body."""
    media: tuple[bytes, ...] = (JSON,)
    """Media types that a body may have."""
    optional: bool = False
    """Whether no body at all means the defaults."""
    query: type[protocol.RequestBody] | None = NoQuery
    """The parameters after `?`; None: a query is ignored."""
    if_match: bool = False
    """Whether the header If-Match is read."""
    raises: tuple[type[RequestProblem], ...] = ()
    """What the engine may refuse with, apart from a closed log."""
    example: Any = None
    """A body to show."""


AS_IT_IS = Success(200, "The campaign as it is now.", protocol.CampaignView, ("ETag",))
REFITTING = Success(
    202,
    "The campaign as it is until its policy has read the whole log: `refit` says how far it is.",
    protocol.CampaignView,
    ("ETag",),
)


def feedback_operation(
    name: str, handler: Handler, summary: str, request: Any, example: dict[str, Any]
) -> Operation:
    """Return an operation that reports something about one decision."""
    return Operation(
        name,
        "POST",
        f"{DECISION}/{name}",
        handler,
        summary,
        (Success(200, "What became of the event.", protocol.Receipt),),
        "Feedback",
        scope="feedback",
        request=request,
        raises=(NotFound, Conflict),
        example=example,
    )


def campaign_operation(
    name: str, method: str, path: str, handler: Handler, summary: str, **more: Any
) -> Operation:
    """Return an operation that does something with one campaign and shows it."""
    operation = Operation(
        name,
        method,
        CAMPAIGN + path,
        handler,
        summary,
        (AS_IT_IS,),
        "Campaigns",
        scope="read" if method == "GET" else "admin",
        raises=(NotFound,) if method == "GET" else (NotFound, Conflict, Unusable),
    )
    return replace(operation, **more)


def open_operation(
    path: str, handler: Handler, summary: str, answer: Success, **more: Any
) -> Operation:
    """Return an operation that shows something to whoever asks, without a key."""
    name = path.strip("/").partition(".")[0]
    return Operation(name, "GET", path, handler, summary, (answer,), "Service", query=None, **more)
