"""The OpenAPI 3.1 document, made from the table of operations and the types it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import msgspec

from foretell import protocol
from foretell.service.http.bodies import JSON
from foretell.service.http.operation import Operation, Success
from foretell.service.http.problems import PROBLEM
from foretell.service.http.schemas import Schemas, portable, query_fields, reference
from foretell.service.model import errors as problems
from foretell.service.model.decision_id import LAST_SECRET

_PARAMETERS: dict[str, tuple[Any, str]] = {
    "campaign": (protocol.Name, "The name of the campaign."),
    "action": (protocol.Name, "The name of the action."),
    "decision": (protocol.Id, "The decision_id that came with the decision."),
    "evaluation": (protocol.Id, "The id of the evaluation."),
    "unit": (protocol.Id, "The unit, as it was sent with decisions."),
    "key_id": (protocol.Id, "The id of the key, not the key."),
    "secret": (
        Annotated[int, msgspec.Meta(ge=0, le=LAST_SECRET)],
        "The number of the secret: how many there were before it.",
    ),
}
_HEADERS = {
    "ETag": ('The version of the campaign, for If-Match: `"17"`.', {"type": "string"}),
    "Location": ("The address of what was created.", {"type": "string"}),
    "Retry-After": ("Seconds to wait.", {"type": "integer"}),
    "WWW-Authenticate": ("That a key is needed.", {"type": "string"}),
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "The ETag that was read: 412 if the campaign was changed since.",
    "schema": {"type": "string", "example": '"17"'},
}
_ABOUT = (
    "Ask for an action, report the signal at once and the reward weeks later. "
    "What is answered with 2xx is on disk. Errors are problems by RFC 9457."
)
_GROUPS = {
    "Decisions": "Ask for an action, and read what became of it.",
    "Feedback": "Report what was seen after a decision, at once or weeks later.",
    "Campaigns": "Set up what is decided, among which actions, and by which policy.",
    "Reports": "Read what a campaign has come to.",
    "Keys": "Keys, and the secrets that sign decision ids.",
    "Service": "Whether it runs, what it does, and copies of its log.",
}


def problems_of(operation: Operation) -> list[type[problems.RequestProblem]]:
    """List what may go wrong with an operation, in the order of the statuses."""
    found: set[type[problems.RequestProblem]] = {problems.BadRequest, problems.Internal}
    found |= set(operation.raises)
    if operation.scope is not None:
        found |= {problems.Unauthorized, problems.Forbidden}
        found |= {problems.Overloaded, problems.OverBudget, problems.LogUnavailable}
    if operation.request is not None:
        found |= {problems.Malformed, problems.TooLarge, problems.WrongMedia, problems.Unusable}
    if operation.query is not None:
        found |= {problems.BadParameter}
    if operation.if_match:
        found |= {problems.Stale}
    return sorted(found, key=lambda problem: (problem.status, problem.name))


def openapi_document(operations: Sequence[Operation], root_path: str = "") -> dict[str, Any]:
    """Describe every operation of a service whose addresses begin with `root_path`."""
    schemas = Schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = operation.path.replace(":unit}", "}")
        paths.setdefault(path, {})[operation.method.lower()] = _describe(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "foretell",
            "version": version("foretell"),
            "description": _ABOUT,
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": root_path or "/", "description": "The service that says this."}],
        "tags": [
            {"name": name, "description": _GROUPS[name]}
            for name in dict.fromkeys(one.group for one in operations)
        ],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "ftk_…"}
            },
        },
    }


def _describe(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.group],
        "security": [{"key": [operation.scope]}] if operation.scope else [],
        "parameters": _parameters(operation),
        "responses": {
            **{str(answer.status): _answer(answer, schemas) for answer in operation.answers},
            **_problems(operation),
        },
    }
    if operation.request is not None:
        content: dict[str, Any] = {}
        for media in operation.media:
            kind = operation.request if media == JSON else None
            content[media.decode()] = {"schema": schemas.of(kind)}
        if operation.example is not None:
            content["application/json"]["example"] = operation.example
        described["requestBody"] = {"required": not operation.optional, "content": content}
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    listed = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": about,
            "schema": portable(msgspec.json.schema(kind)),
        }
        for name, (kind, about) in _PARAMETERS.items()
        if f"{{{name}}}" in operation.path.replace(":unit}", "}")
    ]
    if operation.query is not None:
        listed += [
            {"name": name, "in": "query", "required": False, **field}
            for name, field in query_fields(operation.query).items()
        ]
    return [*listed, _IF_MATCH] if operation.if_match else listed


def _headers(names: Iterable[str]) -> dict[str, Any]:
    return {
        name: {"description": about, "required": True, "schema": schema}
        for name, (about, schema) in _HEADERS.items()
        if name in names
    }


def _answer(answer: Success, schemas: Schemas) -> dict[str, Any]:
    content = {media.decode(): {"schema": schemas.of(answer.kind)} for media in answer.media}
    described: dict[str, Any] = {"description": answer.what, "headers": _headers(answer.headers)}
    if content:
        described["content"] = content
    if answer.links:
        described["links"] = {
            name: {"operationId": name, "parameters": {parameter: f"$response.body#/{field}"}}
            for name, parameter, field in answer.links
        }
    return described


def _problems(operation: Operation) -> dict[str, Any]:
    by_status: dict[int, list[type[problems.RequestProblem]]] = {}
    for problem in problems_of(operation):
        by_status.setdefault(problem.status, []).append(problem)
    return {str(status): _problem(status, found) for status, found in by_status.items()}


def _problem(status: int, found: list[type[problems.RequestProblem]]) -> dict[str, Any]:
    names = ["Retry-After"] * (found[0].retry_after is not None)
    names += ["WWW-Authenticate"] * (status in {401, 403})
    return {
        "description": "; ".join(f"{one.title} (`{one.name}`)" for one in found) + ".",
        "headers": _headers(names),
        "content": {PROBLEM.decode(): {"schema": reference(protocol.ProblemDetails)}},
    }
