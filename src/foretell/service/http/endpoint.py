"""Running operations: the way of every request, from its key to its reply, in plain ASGI."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from time import perf_counter
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from foretell import protocol
from foretell.service.http.access import admit
from foretell.service.http.body import check_media, parse, read
from foretell.service.http.call import Call, Disconnected, Found, Shared
from foretell.service.http.deliver import deliver
from foretell.service.http.operation import Operation
from foretell.service.http.query import parse_query
from foretell.service.http.refusal import refuse, reply_to
from foretell.service.model.errors import Overloaded, WrongMethod


class Endpoint:
    """One operation: the gate, the key, the body, the handler, the reply, in this order."""

    def __init__(self, operation: Operation, shared: Shared) -> None:
        """Compile what can be compiled before the first request."""
        self._operation = operation
        self._shared = shared
        self._done = shared.metrics.done(operation.name)
        self._allowed: frozenset[protocol.Scope] = frozenset({operation.scope or "admin", "admin"})
        whole = operation.reads == "bytes"
        self._limit = shared.limits.batch if whole else shared.limits.body
        self._decoder = msgspec.json.Decoder(operation.request or Any)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        began = perf_counter()
        shared, operation = self._shared, self._operation
        shared.in_flight += 1
        try:
            try:
                headers = dict(scope["headers"])
                if operation.scope is not None:
                    self._let_in(headers)
                query = operation.query and parse_query(operation.query, scope["query_string"])
                body = None if operation.request is None else await self._body(headers, receive)
                params = scope["path_params"]
                call = Call(shared, shared.engine, params, scope, body, query, receive)
                reply = await operation.handler(call)
            except Disconnected:
                self._done(499, perf_counter() - began)
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets a reply
                reply = reply_to(error, operation.name)
            self._done(reply.status, perf_counter() - began)
            await deliver(reply, operation.name, scope["method"], receive, send)
        finally:
            shared.in_flight -= 1

    def _let_in(self, headers: Found) -> None:
        shared = self._shared
        if shared.in_flight > shared.limits.in_flight:
            raise Overloaded("too many requests are being served: try again soon")
        admit(shared.engine, headers.get(b"authorization"), self._allowed)

    async def _body(self, headers: Found, receive: Receive) -> Any:
        operation = self._operation
        if operation.reads == "stream":
            return check_media(headers, operation.media)
        body = await read(receive, headers, self._limit)
        if not body and operation.optional:
            return operation.request()
        media = check_media(headers, operation.media)
        return parse(self._decoder, body) if operation.reads == "parsed" else (media, body)


class Resource:
    """What stands at one path: its operations by method."""

    def __init__(self, operations: Sequence[Operation], shared: Shared) -> None:
        """Return every GET its HEAD."""
        self._done = shared.metrics.done("none")
        self._endpoints = {one.method: Endpoint(one, shared) for one in operations}
        if "GET" in self._endpoints:
            self._endpoints["HEAD"] = self._endpoints["GET"]
        self._allow = b"allow", ", ".join(sorted(self._endpoints)).encode()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand a request to the operation that its method names."""
        endpoint = self._endpoints.get(scope["method"])
        return (endpoint or self._refuse)(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = WrongMethod("this address does not know this method: see the header Allow")
        self._done(problem.status, 0.0)
        await deliver(refuse(problem, self._allow), "none", scope["method"], receive, send)
