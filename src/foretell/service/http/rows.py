"""Rows of the table of operations that are alike, each written as what makes it differ."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from foretell import protocol
from foretell.service.http.campaigns import set_status
from foretell.service.http.operation import Handler, Operation, Success
from foretell.service.http.reports import table_of
from foretell.service.http.service import Service
from foretell.service.model.errors import Conflict, NotFound, Unusable

C = "/v1/campaigns/{campaign}"
D = "/v1/decisions/{decision}"


def feedback_row(
    name: str, handler: Handler, summary: str, request: Any, example: dict[str, Any]
) -> Operation:
    """Report something about one decision."""
    return Operation(
        name,
        "POST",
        f"{D}/{name}",
        handler,
        summary,
        (Success(200, "What became of the event.", protocol.Receipt),),
        "Feedback",
        scope="feedback",
        request=request,
        raises=(NotFound, Conflict),
        example=example,
    )


def campaign_row(name: str, method: str, path: str, handler: Handler, summary: str) -> Operation:
    """Do something with one campaign and show it."""
    return Operation(
        name,
        method,
        C + path,
        handler,
        summary,
        (Success(200, "The campaign as it is now.", protocol.CampaignView, ("ETag",)),),
        "Campaigns",
        scope="read" if method == "GET" else "admin",
        raises=(NotFound,) if method == "GET" else (NotFound, Conflict, Unusable),
    )


def status_row(
    verb: str, status: Literal["running", "paused", "stopped"], summary: str
) -> Operation:
    """Start, pause or stop one campaign."""
    row = campaign_row(f"{verb}_campaign", "POST", f"/{verb}", set_status(status), summary)
    return replace(row, if_match=True)


def report_row(
    name: str, read: Callable[[Service, str], Awaitable[Struct]], summary: str, kind: Any
) -> Operation:
    """Show something about one campaign."""
    return Operation(
        f"get_{name}",
        "GET",
        f"{C}/{name}",
        table_of(read),
        summary,
        (Success(200, "The table.", kind),),
        "Reports",
        scope="read",
        raises=(NotFound,),
    )


def open_row(path: str, handler: Handler, summary: str, answer: Success) -> Operation:
    """Show something to whoever asks."""
    name = path.strip("/").partition(".")[0]
    return Operation(name, "GET", path, handler, summary, (answer,), "Service", query=None)
