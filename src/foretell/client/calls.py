"""What goes over the wire: requests are built here, answers are read here, nothing is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

import msgspec

from foretell.client.errors import ServiceRefused, ServiceUnavailable
from foretell.client.events import text
from foretell.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence

Body = TypeVar("Body")


class Call(NamedTuple):
    """A request: its method, its path under the address of the service, and its body."""

    method: str
    path: str
    body: bytes = b""


class Reply(NamedTuple):
    """An answer as it came."""

    status: int
    body: bytes
    kind: str = ""
    """Its Content-Type."""
    retry_after: str = ""


class Lost(NamedTuple):
    """No answer came: the service may have done what was asked, or not."""

    why: str


Outcome: TypeAlias = Reply | Lost


class Answer(msgspec.Struct):
    """A decision, as the service gives it."""

    decision_id: str
    action: str
    propensity: float
    policy: str
    reward_due_at: str
    mode: str


class Receipt(msgspec.Struct):
    """What became of one event."""

    status: Literal["accepted", "duplicate", "late", "parked", "rejected"]
    detail: str | None = None


class _Receipts(msgspec.Struct):
    results: list[Receipt]


class _Problem(msgspec.Struct):
    """An error, as RFC 9457 writes it."""

    type: str = "about:blank"
    title: str = ""
    detail: str = ""


def decision(
    campaign: str,
    unit: str | None,
    eligible: Sequence[str] | None,
    decision_key: str,
    context: dict[str, Any] | None,
) -> Call:
    """Ask for a decision."""
    asked = {
        "unit": unit,
        "eligible": [eligible] if isinstance(eligible, str) else eligible,
        "decision_key": decision_key,
        "context": context,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    return Call("POST", f"/v1/campaigns/{_part(campaign)}/decisions", _json(given))


def batch(events: Sequence[bytes]) -> Call:
    """Report events, each of them JSON already."""
    return Call("POST", "/v1/events/batch", b'{"events":[' + b",".join(events) + b"]}")


def new_campaign(fields: dict[str, Any]) -> Call:
    """Make a campaign."""
    return Call("POST", "/v1/campaigns", _json(fields))


def report(campaign: str) -> Call:
    """Ask what a campaign has come to."""
    return Call("GET", f"/v1/campaigns/{_part(campaign)}/report")


def trouble(outcome: Outcome) -> str | None:
    """Say why an outcome tells nothing about the request; None: it is an answer to it.

    Only 2xx and a 4xx with a problem document speak for the service. A timeout, a broken
    connection, 429, 5xx, or the page of a proxy say nothing: the same request may be sent again.
    """
    if isinstance(outcome, Lost):
        return outcome.why
    if outcome.status in {200, 201, 204}:
        return None
    if 400 <= outcome.status < 500 and outcome.status not in {408, 429} and _is_problem(outcome):
        return None
    return f"the service answered {outcome.status}"


def read(outcome: Outcome, kind: type[Body]) -> Body:
    """Return what the service answered, or raise ServiceUnavailable or ServiceRefused."""
    why = trouble(outcome)
    if isinstance(outcome, Lost):
        raise ServiceUnavailable(outcome.why)
    if why is not None:
        raise ServiceUnavailable(why, outcome.status)
    try:
        if outcome.status < 400:
            return msgspec.json.decode(outcome.body, type=kind)
        problem = msgspec.json.decode(outcome.body, type=_Problem)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ServiceUnavailable(
            f"the service answered {outcome.status} and what cannot be read: {error}",
            outcome.status,
        ) from error
    raise ServiceRefused(outcome.status, problem.type, problem.title, problem.detail)


def receipts(outcome: Outcome, count: int) -> list[Receipt]:
    """Return what became of each of so many events, or raise as `read` does."""
    results = read(outcome, _Receipts).results
    if len(results) != count:
        raise ServiceUnavailable(f"the service answered for {len(results)} of {count} events")
    return results


def _is_problem(reply: Reply) -> bool:
    return reply.kind.partition(";")[0].strip().lower() == "application/problem+json"


def _part(name: str) -> str:
    return quote(text("name of the campaign", name), safe="")


def _json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"this cannot be sent as JSON: {error}") from error
