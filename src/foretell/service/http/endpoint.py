"""What every request passes through, from its key to its response, in plain ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from time import perf_counter
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http.admission import KeyUse
from foretell.service.http.bodies import (
    MAX_EVENT_VALUES,
    MAX_VALUES,
    ClientDisconnected,
    HeaderMap,
    check_media,
    parse_json,
    read_body,
)
from foretell.service.http.operation import AppState, Operation, RequestContext
from foretell.service.http.problems import error_response, problem_response
from foretell.service.http.queries import parse_query
from foretell.service.http.responses import request_id, send_response
from foretell.service.model.errors import BadRequest, Forbidden, Unauthorized, WrongMethod
from foretell.service.model.keys import Caller

HeaderList = Sequence[tuple[bytes, bytes]]
CLIENT_GONE = 499
"""The status under which a request is counted whose client went away before its answer."""
SLOW_BODY_SECONDS = 0.5
"""A key is checked again after a body that took longer: it may have been revoked."""
UNUSABLE_STATUSES = frozenset({400, 404, 413, 415, 422})
"""Those of a report that cannot be read, and would be `rejected` in a batch."""


class Endpoint:
    """One operation: the key, the limits, the body, the handler, the response, in this order."""

    def __init__(self, operation: Operation, state: AppState) -> None:
        """Compile what can be compiled before the first request."""
        self._operation = operation
        self._state = state
        self._done = state.metrics.done(operation.name)
        self._allowed: frozenset[protocol.Scope] = frozenset({operation.scope or "admin", "admin"})
        traffic = operation.scope in {"decide", "feedback"}
        self._admin_waits = traffic
        self._is_report = operation.scope == "feedback" and operation.reads == "parsed"
        whole = operation.reads == "bytes"
        limits = state.limits
        self._limit = limits.batch if whole else limits.event if traffic else limits.body
        self._values = MAX_EVENT_VALUES if traffic and not whole else MAX_VALUES
        self._decoder = msgspec.json.Decoder(operation.request or Any)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = perf_counter()
        state, operation = self._state, self._operation
        scope["operation"] = operation
        use: KeyUse | None = None
        read = False
        try:
            try:
                params = scope["path_params"]
                headers, caller = self._read_headers(scope)
                if caller is not None:
                    scope["caller"] = caller
                    if self._admin_waits or "admin" not in caller.scopes:
                        use = state.admission.enter(caller)
                query = None
                if operation.query is not None:
                    asked = scope["query_string"]
                    query = parse_query(operation.query, asked) if asked else operation.query()
                body = None
                if operation.request is not None:
                    body = await self._body(headers, receive, use)
                    if caller is not None and perf_counter() - began > SLOW_BODY_SECONDS:
                        self._let_in(headers, scope["headers"], params)
                read = True
                context = RequestContext(
                    state, state.engine, params, scope, body, query, receive, caller
                )
                response = await operation.handler(context)
            except ClientDisconnected:
                self._done(scope.get("refused", CLIENT_GONE), perf_counter() - began)
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a response
                response = error_response(error, operation.name, request_id(scope))
                if self._is_report and not read and response.status in UNUSABLE_STATUSES:
                    state.metrics.unreadable_feedback += 1
            self._done(response.status, perf_counter() - began)
            await send_response(response, operation.name, scope["method"], receive, send)
        finally:
            if use is not None:
                state.admission.leave(use)

    def _read_headers(self, scope: Scope) -> tuple[HeaderMap, Caller | None]:
        """Return the headers by name, and whose key is among them, where one is needed.

        A key that came with the same head before is looked up by its id: it may be revoked by now.
        """
        kept = scope.get("kept", {})
        found: tuple[HeaderMap, Caller | None] | None = kept.get(self)
        if found is not None:
            caller = found[1]
            if caller is None or self._state.engine.caller_of(caller.author.id) is caller:
                return found
        headers, caller = dict(scope["headers"]), None
        if self._operation.scope is not None:
            caller = self._let_in(headers, scope["headers"], scope["path_params"])
        found = headers, caller
        if "decision" not in scope["path_params"]:  # whose campaign may not be known yet
            kept[self] = found
        return found

    def _let_in(self, headers: HeaderMap, listed: HeaderList, params: Mapping[str, str]) -> Caller:
        if len(headers) != len(listed):
            _refuse_two_keys(listed)
        caller = check_key(self._state.engine, headers.get(b"authorization"), self._allowed)
        if caller.campaign is not None:
            self._check_campaign(caller.campaign, params)
        return caller

    def _check_campaign(self, own: str, params: Mapping[str, str]) -> None:
        """Raise unless a key for one campaign is used for that one."""
        asked: str | None = own
        if "campaign" in params:
            asked = params["campaign"]
        elif "decision" in params:  # the handler says that there is no such decision
            asked = self._state.engine.campaign_of(params["decision"]) or own
        elif not self._operation.each_campaign:
            raise Forbidden(
                f"the key is for the campaign {own!r} alone, and this is about all of them: "
                f"use a key for all campaigns"
            )
        if asked != own:
            raise Forbidden(
                f"the key is for the campaign {own!r} alone, and this is about another: "
                f"use a key for that one"
            )

    async def _body(self, headers: HeaderMap, receive: Receive, use: KeyUse | None) -> Any:
        operation, admission = self._operation, self._state.admission
        if operation.reads == "stream":
            return check_media(headers, operation.media)
        body = await read_body(receive, headers, self._limit, self._values, use)
        if not body and operation.optional:
            return operation.request()
        media = check_media(headers, operation.media)
        parsed = parse_json(self._decoder, body) if operation.reads == "parsed" else (media, body)
        if use is not None and admission.has_budgets:
            admission.take_context(use, getattr(parsed, "context", None))
        return parsed


def _refuse_two_keys(listed: HeaderList) -> None:
    sent = sum(name == b"authorization" for name, _ in listed)
    if sent > 1:
        raise BadRequest(f"the header Authorization came {sent} times: send one key")


def check_key(engine: Engine, sent: bytes | None, allowed: frozenset[protocol.Scope]) -> Caller:
    """Return whose key was sent, if it has one of the allowed scopes; never name the key.

    Keys are checked before anything of the body is read.
    """
    if sent is None:
        raise Unauthorized("no key was sent: send the header Authorization: Bearer <key>")
    scheme, _, key = sent.partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthorized("the key must be sent as Authorization: Bearer <key>")
    caller = engine.identify(key.strip().decode("ascii")) if key.isascii() else None
    if caller is None:
        raise Unauthorized("the key is not valid, or not any more: ask for a new one")
    if caller.scopes.isdisjoint(allowed):
        raise Forbidden(
            f"this needs a key with the scope {' or '.join(sorted(allowed))}, and the key that was "
            f"sent has {', '.join(sorted(caller.scopes))} alone: use another key, or make one"
        )
    return caller


class Resource:
    """One path, with its operations by method."""

    def __init__(self, operations: Sequence[Operation], state: AppState) -> None:
        """Add HEAD where there is GET."""
        self._done = state.metrics.done("none")
        self._endpoints = {one.method: Endpoint(one, state) for one in operations}
        if "GET" in self._endpoints:
            self._endpoints["HEAD"] = self._endpoints["GET"]
        self._methods = ", ".join(sorted(self._endpoints))

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand a request to the operation that its method names."""
        endpoint = self._endpoints.get(scope["method"])
        return (endpoint or self._refuse)(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = WrongMethod(
            f"this address does not know the method {scope['method'][:20]!r}: use {self._methods}"
        )
        self._done(problem.status, 0.0)
        response = problem_response(problem, (b"allow", self._methods.encode()))
        await send_response(response, "none", scope["method"], receive, send)
