"""What every request passes through, from its key to its response, in plain ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from time import perf_counter
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http.bodies import (
    ClientDisconnected,
    HeaderMap,
    check_media,
    parse_json,
    parse_query,
    read_body,
)
from foretell.service.http.operation import AppState, Operation, RequestContext
from foretell.service.http.problems import error_response, problem_response
from foretell.service.http.responses import send_response
from foretell.service.model.errors import Forbidden, Overloaded, Unauthorized, WrongMethod


class Endpoint:
    """One operation: the limit, the key, the body, the handler, the response, in this order."""

    def __init__(self, operation: Operation, state: AppState) -> None:
        """Compile what can be compiled before the first request."""
        self._operation = operation
        self._state = state
        self._done = state.metrics.done(operation.name)
        self._allowed: frozenset[protocol.Scope] = frozenset({operation.scope or "admin", "admin"})
        whole = operation.reads == "bytes"
        self._limit = state.limits.batch if whole else state.limits.body
        self._decoder = msgspec.json.Decoder(operation.request or Any)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = perf_counter()
        state, operation = self._state, self._operation
        state.in_flight += 1
        try:
            try:
                headers = dict(scope["headers"])
                if operation.scope is not None:
                    self._let_in(headers)
                query = operation.query and parse_query(operation.query, scope["query_string"])
                body = None if operation.request is None else await self._body(headers, receive)
                params = scope["path_params"]
                context = RequestContext(state, state.engine, params, scope, body, query, receive)
                response = await operation.handler(context)
            except ClientDisconnected:
                self._done(499, perf_counter() - began)
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a response
                response = error_response(error, operation.name)
            self._done(response.status, perf_counter() - began)
            await send_response(response, operation.name, scope["method"], receive, send)
        finally:
            state.in_flight -= 1

    def _let_in(self, headers: HeaderMap) -> None:
        state = self._state
        if state.in_flight > state.limits.in_flight:
            raise Overloaded("too many requests are being served: try again soon")
        check_key(state.engine, headers.get(b"authorization"), self._allowed)

    async def _body(self, headers: HeaderMap, receive: Receive) -> Any:
        operation = self._operation
        if operation.reads == "stream":
            return check_media(headers, operation.media)
        body = await read_body(receive, headers, self._limit)
        if not body and operation.optional:
            return operation.request()
        media = check_media(headers, operation.media)
        return parse_json(self._decoder, body) if operation.reads == "parsed" else (media, body)


def check_key(engine: Engine, sent: bytes | None, allowed: frozenset[protocol.Scope]) -> None:
    """Raise unless the key that was sent has one of the allowed scopes; never name the key.

    Keys are checked before anything of the body is read.
    """
    if sent is None:
        raise Unauthorized("no key was sent: send the header Authorization: Bearer <key>")
    scheme, _, key = sent.partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthorized("the key must be sent as Authorization: Bearer <key>")
    scopes = engine.identify(key.strip().decode("ascii")) if key.isascii() else None
    if scopes is None:
        raise Unauthorized("the key is not valid: ask for a new one")
    if scopes.isdisjoint(allowed):
        raise Forbidden(f"this needs a key with the scope {' or '.join(sorted(allowed))}")


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
