"""The whole HTTP layer as one application."""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from foretell.live.http.call import Shared, encode
from foretell.live.http.deliver import deliver
from foretell.live.http.endpoint import Resource
from foretell.live.http.limits import Limits
from foretell.live.http.metrics import Metrics
from foretell.live.http.openapi import document
from foretell.live.http.operation import Operation
from foretell.live.http.page import render
from foretell.live.http.refusal import refuse
from foretell.live.http.service import Service
from foretell.live.http.table import OPERATIONS
from foretell.live.problems import NotFound


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
