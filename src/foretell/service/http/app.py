"""The whole HTTP layer as one application."""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from foretell.service.http.call import Shared, encode
from foretell.service.http.deliver import deliver
from foretell.service.http.endpoint import Resource
from foretell.service.http.limits import Limits
from foretell.service.http.metrics import Metrics
from foretell.service.http.openapi import document
from foretell.service.http.operation import Operation
from foretell.service.http.page import render
from foretell.service.http.refusal import refuse
from foretell.service.http.service import Service
from foretell.service.http.table import OPERATIONS
from foretell.service.model.errors import NotFound


def app(engine: Service, limits: Limits | None = None) -> Router:
    """Make the application that serves `engine`, which is open and stays the caller's to close."""
    described = document(OPERATIONS)
    metrics = Metrics(engine.gauges)
    shared = Shared(
        engine, limits or Limits(), metrics, encode(described), render(described).encode()
    )
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    routes = [Route(path, Resource(at, shared)) for path, at in by_path.items()]
    router = Router(routes, redirect_slashes=False)
    router.default = _nowhere(router.default, metrics.done("none"))
    return router


def _nowhere(otherwise: ASGIApp, done: Callable[[int, float], None]) -> ASGIApp:
    """Answer what no route answers; `otherwise` closes what is not HTTP."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await otherwise(scope, receive, send)
            return
        reply = refuse(NotFound("there is nothing at this address: /docs lists what there is"))
        done(reply.status, 0.0)
        await deliver(reply, "none", scope["method"], receive, send)

    return answer
