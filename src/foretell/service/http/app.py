"""The HTTP application, what it is wrapped in, and how a connection reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from time import perf_counter

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foretell.service.engine import Engine
from foretell.service.http.connection import Connection
from foretell.service.http.docs_page import render_docs
from foretell.service.http.endpoint import CLIENT_GONE, Resource
from foretell.service.http.limits import Limits
from foretell.service.http.metrics import Metrics
from foretell.service.http.openapi import openapi_document
from foretell.service.http.operation import AppState, Operation
from foretell.service.http.problems import problem_response
from foretell.service.http.responses import encode, request_id, send_response
from foretell.service.http.routes import OPERATIONS
from foretell.service.logging import log_request
from foretell.service.model.errors import LogUnavailable, NotFound


class UnitConvertor(StringConvertor):
    """Any text at the end of a path: Starlette's own would leave out a line end."""

    regex = "(?s:.*)"


register_url_convertor("unit", UnitConvertor())


def app(
    engine: Engine,
    limits: Limits | None = None,
    metrics: Metrics | None = None,
    pages: Sequence[Route] = (),
) -> Router:
    """Return the application that serves `engine`, which the caller opens and closes.

    `pages` are routes besides those of the API: the dashboard's.
    """
    metrics = metrics or Metrics(engine.gauges)
    state = AppState(engine, limits or Limits(), metrics, _openapi, _docs_page)
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    routes = [Route(path, Resource(listed, state)) for path, listed in by_path.items()]
    router = Router([*routes, *pages], redirect_slashes=False)
    router.default = _not_found(router.default, metrics.done("none"))
    return router


@cache
def _openapi() -> bytes:
    """Return the OpenAPI document: made when it is first asked for, so that a start is quick."""
    return encode(openapi_document(OPERATIONS))


@cache
def _docs_page() -> bytes:
    """Return the page that shows the OpenAPI document, made when it is first asked for."""
    return render_docs(openapi_document(OPERATIONS)).encode()


def _not_found(otherwise: ASGIApp, done: Callable[[int, float], None]) -> ASGIApp:
    """Answer a path without a route; `otherwise` closes what is not HTTP."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await otherwise(scope, receive, send)
            return
        problem = NotFound("there is nothing at this address: /docs lists what there is")
        done(problem.status, 0.0)
        await send_response(problem_response(problem), "none", scope["method"], receive, send)

    return answer


def connection_factory(
    limits: Limits, metrics: Metrics, *, access_log: bool
) -> Callable[..., Connection]:
    """Return what makes the protocol of each connection, as uvicorn calls it."""
    return partial(Connection, limits, metrics.done("none"), access_log=access_log)


class AccessLogMiddleware:
    """Logs every request that is answered."""

    def __init__(self, inner: ASGIApp) -> None:
        """Log what `inner` answers."""
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and log it when that is done."""
        began, status, size = perf_counter(), CLIENT_GONE, 0

        async def count_and_send(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._inner(scope, receive, count_and_send)
        finally:
            operation, caller = scope.get("operation"), scope.get("caller")
            log_request(
                request_id(scope),
                scope.get("refused", status),
                size,
                operation=None if operation is None else operation.name,
                method=scope["method"],
                campaign=scope.get("path_params", {}).get("campaign"),
                key=None if caller is None else caller.author.name,
                seconds=round(perf_counter() - began, 6),
                client=scope["client"] and scope["client"][0],
            )


class ShutdownMiddleware:
    """Answers the requests that a stopping server cancels."""

    def __init__(self, inner: ASGIApp) -> None:
        """Answer in place of `inner` when it is cancelled."""
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await self._inner(scope, receive, send)
        except asyncio.CancelledError:
            problem = LogUnavailable("the server stops before this is done: send the same again")
            with suppress(RuntimeError):  # a response that has begun is cut off
                response = problem_response(problem)
                await send_response(response, "none", scope["method"], receive, send)
