"""The HTTP application, what it is wrapped in, and how a connection reaches it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from time import perf_counter
from typing import Generic, TypeVar

from starlette.convertors import StringConvertor, register_url_convertor
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foretell.service.engine import Engine
from foretell.service.http.connection import Connection
from foretell.service.http.cors import cors_middleware
from foretell.service.http.docs_page import render_docs
from foretell.service.http.endpoint import CLIENT_GONE, Resource
from foretell.service.http.limits import Limits
from foretell.service.http.metrics import Metrics
from foretell.service.http.openapi import openapi_document
from foretell.service.http.operation import AppState, Operation
from foretell.service.http.problems import problem_response
from foretell.service.http.responses import encode, request_id, send_response
from foretell.service.http.root_path import RootPathMiddleware
from foretell.service.http.routes import OPERATIONS
from foretell.service.logging import log_request
from foretell.service.model.errors import LogUnavailable, NotFound
from foretell.service.settings import Settings

Found = TypeVar("Found")


class UnitConvertor(StringConvertor):
    """Any text at the end of a path: Starlette's own would leave out a line end."""

    regex = "(?s:.*)"


register_url_convertor("unit", UnitConvertor())


def app(
    engine: Engine,
    limits: Limits | None = None,
    metrics: Metrics | None = None,
    pages: Sequence[Route] = (),
    root_path: str = "",
) -> Application:
    """Return the application that serves `engine`, which the caller opens and closes.

    `pages` are routes besides those of the API: the dashboard's. `root_path` is the path at which
    callers find it, which its description names.
    """
    metrics = metrics or Metrics(engine)
    document, docs_page = partial(_openapi, root_path), partial(_docs_page, root_path)
    state = AppState(engine, limits or Limits(), metrics, document, docs_page)
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    resources = {path: Resource(listed, state) for path, listed in by_path.items()}
    return Application(resources, pages, metrics.done("none"))


class Application:
    """Hands each request to what is at its path."""

    def __init__(
        self,
        resources: Mapping[str, Resource],
        pages: Sequence[Route],
        not_found: Callable[[int, float], None],
    ) -> None:
        """Serve the API and pages; `not_found` counts what is asked for in vain."""
        self._tree: PathTree[Resource] = PathTree()
        others = []
        for path, resource in resources.items():
            if ":" in path:  # a parameter that is not one segment
                others.append(Route(path, resource))
            else:
                self._tree.add(path, resource)
        self._others = Router([*others, *pages], redirect_slashes=False)
        self._others.default = _not_found(self._others.default, not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        kept = scope.get("kept", {})
        found = kept.get(self)
        if found is None and scope["type"] == "http":
            found = kept[self] = self._tree.find(scope["path"])
        if found is None:
            await self._others(scope, receive, send)
        else:
            resource, scope["path_params"] = found
            await resource(scope, receive, send)


def _not_found(otherwise: ASGIApp, done: Callable[[int, float], None]) -> ASGIApp:
    """Answer a path without a route; `otherwise` closes what is not HTTP."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await otherwise(scope, receive, send)
            return
        problem = NotFound(
            "there is nothing at this address: /ui is the dashboard, and /docs lists the API"
        )
        done(problem.status, 0.0)
        await send_response(problem_response(problem), "none", scope["method"], receive, send)

    return answer


def connection_factory(
    limits: Limits, metrics: Metrics, *, access_log: bool
) -> Callable[..., Connection]:
    """Return what makes the protocol of each connection, as uvicorn calls it."""
    return partial(Connection, limits, metrics.done("none"), access_log=access_log)


def with_middleware(web: ASGIApp, settings: Settings) -> ASGIApp:
    """Wrap an application in what its settings ask for, and in nothing else."""
    web = ShutdownMiddleware(web)
    if settings.root_path is not None:
        web = RootPathMiddleware(web, settings.root_path)
    if settings.cors_origin is not None:
        web = cors_middleware(web, settings.cors_origin)
    return AccessLogMiddleware(web) if settings.access_log else web


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


class _Node(Generic[Found]):
    """What is at the paths that begin with the same segments."""

    __slots__ = ("below", "here", "name", "parameter")

    def __init__(self) -> None:
        self.here: Found | None = None
        self.below: dict[str, _Node[Found]] = {}
        self.parameter: _Node[Found] | None = None
        """What is below any segment that is not listed, which is the parameter of this name."""
        self.name = ""


class PathTree(Generic[Found]):
    """What is at each path, found segment by segment: no regular expression is tried for a route.

    A parameter is one segment, and is not empty.
    """

    def __init__(self) -> None:
        """Begin with no path."""
        self._root: _Node[Found] = _Node()

    def add(self, template: str, here: Found) -> None:
        """Put something at a path, in which `{name}` stands for a parameter."""
        node = self._root
        for segment in template.split("/"):
            if segment.startswith("{"):
                node.name = segment[1:-1]
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.below.setdefault(segment, _Node())
        node.here = here

    def find(self, path: str) -> tuple[Found, dict[str, str]] | None:
        """Return what is at a path, and its parameters by name; None where nothing is.

        >>> tree: PathTree[int] = PathTree()
        >>> tree.add("/v1/campaigns/{campaign}/decisions", 7)
        >>> tree.find("/v1/campaigns/hero/decisions")
        (7, {'campaign': 'hero'})
        >>> tree.find("/v1/campaigns//decisions") is tree.find("/v1/campaigns") is None
        True
        """
        node, parameters = self._root, {}
        for segment in path.split("/"):
            below = node.below.get(segment)
            if below is None:
                below = node.parameter
                if below is None or not segment:
                    return None
                parameters[node.name] = segment
            node = below
        return None if node.here is None else (node.here, parameters)


@cache
def _openapi(root_path: str) -> bytes:
    """Return the OpenAPI document: made when it is first asked for, so that a start is quick."""
    return encode(openapi_document(OPERATIONS, root_path))


@cache
def _docs_page(root_path: str) -> bytes:
    """Return the page that shows the OpenAPI document, made when it is first asked for."""
    return render_docs(openapi_document(OPERATIONS, root_path)).encode()
