"""What goes over the wire: requests are built here, answers are read here, nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import IO, Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from foretell import protocol
from foretell.client.checks import checked_text, shown
from foretell.client.errors import ServiceRefused, ServiceUnavailable
from foretell.errors import InvalidInput
from foretell.protocol import (
    BatchReceipt,
    DecisionRequest,
    FieldError,
    ProblemDetails,
    Receipt,
)

Body = TypeVar("Body")
_CAMPAIGN = "name of the campaign"


class ApiCall(NamedTuple):
    """A request: its method, its path under the address of the service, and its body."""

    method: str
    path: str
    body: bytes | IO[bytes] = b""
    headers: Mapping[str, str] = {}
    """What it carries in place of the headers that every request has."""


class HttpReply(NamedTuple):
    """An answer as it came."""

    status: int
    body: bytes
    content_type: str = ""
    retry_after: str = ""


class NoAnswer(NamedTuple):
    """No answer came: the service may have done what was asked, or not."""

    why: str


CallResult: TypeAlias = HttpReply | NoAnswer


def decision_call(
    campaign: str,
    unit: str | None,
    eligible: Sequence[str] | None,
    decision_key: str,
    context: dict[str, Any] | None,
) -> ApiCall:
    """Return the request for a decision."""
    if isinstance(eligible, str):
        raise InvalidInput(
            f"eligible must be a list of actions, got {shown(eligible)}: put it into brackets"
        )
    if context is not None and not isinstance(context, Mapping):
        raise InvalidInput(
            f"context must be a mapping of names to values, got {shown(context)}: "
            f"write it as in {{'page': 1}}"
        )
    actions = cast("list[str] | None", eligible)
    unit = None if unit is None else checked_text("unit", unit)
    asked = DecisionRequest(unit, actions, decision_key, context)
    return ApiCall("POST", campaign_path(campaign) + "/decisions", json_body(asked))


def batch_call(events: Sequence[bytes]) -> ApiCall:
    """Return the request that reports events, each of them JSON already."""
    return ApiCall("POST", "/v1/events/batch", b'{"events":[' + b",".join(events) + b"]}")


def new_campaign_call(fields: Mapping[str, Any]) -> ApiCall:
    """Return the request that makes a campaign."""
    return ApiCall("POST", "/v1/campaigns", json_body(fields))


def patch_call(campaign: str, fields: Mapping[str, Any], version: int | None) -> ApiCall:
    """Return the request that changes a campaign, if it still has this version."""
    headers = {} if version is None else {"If-Match": f'"{version}"'}
    return ApiCall("PATCH", campaign_path(campaign), json_body(fields), headers)


def status_call(campaign: str, verb: Literal["start", "pause", "stop", "hide"]) -> ApiCall:
    """Return the request that starts, pauses, stops or hides a campaign."""
    return ApiCall("POST", f"{campaign_path(campaign)}/{verb}")


def add_action_call(campaign: str, action: str) -> ApiCall:
    """Return the request that adds an action."""
    return ApiCall(
        "POST", f"{campaign_path(campaign)}/actions", json_body(protocol.NewAction(action))
    )


def set_action_call(campaign: str, action: str, status: protocol.ActionStatus) -> ApiCall:
    """Return the request that pauses, resumes or retires an action."""
    path = f"{campaign_path(campaign)}/actions/{_quoted(checked_text('action', action))}"
    return ApiCall("PATCH", path, json_body(protocol.ActionPatch(status)))


def report_call(campaign: str) -> ApiCall:
    """Return the request for the report of a campaign."""
    return ApiCall("GET", f"{campaign_path(campaign)}/report")


def evaluate_call(campaign: str, policy: str) -> ApiCall:
    """Return the request that begins to evaluate a policy."""
    path = f"{campaign_path(campaign)}/evaluations"
    return ApiCall("POST", path, json_body(protocol.NewEvaluation(policy)))


def evaluation_call(campaign: str, evaluation: str) -> ApiCall:
    """Return the request for an evaluation."""
    name = _quoted(checked_text("evaluation", evaluation))
    return ApiCall("GET", f"{campaign_path(campaign)}/evaluations/{name}")


def import_call(campaign: str, part: protocol.HistoryPart) -> ApiCall:
    """Return the request that imports a part of an earlier log."""
    return ApiCall("POST", f"{campaign_path(campaign)}/history", json_body(part))


def make_key_call(new: protocol.NewKey) -> ApiCall:
    """Return the request that makes a key."""
    return ApiCall("POST", "/v1/keys", json_body(new))


def revoke_key_call(key_id: str) -> ApiCall:
    """Return the request that makes a key invalid."""
    return ApiCall("DELETE", f"/v1/keys/{_quoted(checked_text('id of a key', key_id))}")


def trouble(result: CallResult) -> str | None:
    """Return why a result is no answer of the service; None if it is one.

    Only 2xx and a 4xx with a problem document speak for the service. A timeout, a broken
    connection, 429, 5xx, or the page of a proxy say nothing: the same request may be sent again.
    """
    if isinstance(result, NoAnswer):
        return result.why
    if result.status in {200, 201, 202, 204}:
        return None
    if 400 <= result.status < 500 and result.status not in {408, 429} and _is_problem(result):
        return None
    return f"the service answered {result.status}"


def read(result: CallResult, kind: type[Body]) -> Body:
    """Return what the service answered, or raise ServiceUnavailable or ServiceRefused.

    An empty answer reads as None.
    """
    why = trouble(result)
    if isinstance(result, NoAnswer):
        raise ServiceUnavailable(result.why)
    if why is not None:
        raise ServiceUnavailable(why, result.status, *_said(result))
    try:
        if result.status < 400:
            return msgspec.json.decode(result.body or b"null", type=kind)
        problem = _problem(result)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ServiceUnavailable(
            f"the service answered {result.status} and what cannot be read: {error}",
            result.status,
        ) from error
    raise ServiceRefused(
        result.status, problem.type, problem.title, problem.detail, problem.errors or ()
    )


def read_receipts(result: CallResult, count: int) -> list[Receipt]:
    """Return what became of each of so many events, or raise as `read` does."""
    results = read(result, BatchReceipt).results
    if len(results) != count:
        raise ServiceUnavailable(f"the service answered for {len(results)} of {count} events")
    return results


def json_body(value: Any) -> bytes:
    """Return a body in JSON, or raise InvalidInput."""
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInput(f"this cannot be sent as JSON: {error}") from error


def _is_problem(reply: HttpReply) -> bool:
    return reply.content_type.partition(";")[0].strip().lower() == "application/problem+json"


def _said(reply: HttpReply) -> tuple[str, str | None]:
    """Return the sentence of a problem document, empty where there is none, and its action."""
    try:
        problem = _problem(reply) if _is_problem(reply) else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        problem = None
    return ("", None) if problem is None else (problem.detail, problem.action)


def _problem(reply: HttpReply) -> ProblemDetails:
    """Read a problem document; RFC 9457 lets a server leave out every member of it."""
    given = msgspec.json.decode(reply.body, type=dict[str, Any])
    members = {"type": "about:blank", "title": "", "detail": ""}
    found = {name: given.get(name, default) for name, default in members.items()}
    problem = msgspec.convert({**found, "status": reply.status}, ProblemDetails)
    with suppress(msgspec.ValidationError):  # another server may have errors of another kind
        problem.errors = msgspec.convert(given.get("errors"), list[FieldError] | None)
    with suppress(msgspec.ValidationError):
        problem.action = msgspec.convert(given.get("action"), str | None)
    return problem


def campaign_path(campaign: str) -> str:
    """Return the path of a campaign."""
    return _path(campaign) if isinstance(campaign, str) else checked_text(_CAMPAIGN, campaign)


@lru_cache(maxsize=1000)
def _path(campaign: str) -> str:
    return "/v1/campaigns/" + _quoted(checked_text(_CAMPAIGN, campaign))


def _quoted(name: str) -> str:
    from urllib.parse import quote  # slow to import

    return quote(name, safe="")
