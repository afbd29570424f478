"""The service without rules at a real port, for tests that speak to it byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple, cast

import uvicorn
from uvicorn.server import ServerState

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.http import (
    AccessLogMiddleware,
    Limits,
    Metrics,
    ShutdownMiddleware,
    app,
    connection_factory,
)
from tests.service.http.fake_engine import FakeEngine

HEAD = b"POST /v1/campaigns/hero/decisions HTTP/1.1\r\nHost: here\r\n"
KEYED = HEAD + b"Authorization: Bearer ftk_decide\r\nContent-Type: application/json\r\n"


class RawAnswer(NamedTuple):
    """An answer, taken apart."""

    status: int
    headers: dict[str, str]
    body: bytes

    def check_problem(self, status: int, name: str) -> str:
        """Check that it is a problem, and return its sentence."""
        assert (self.status, self.headers["content-type"]) == (status, "application/problem+json")
        problem = json.loads(self.body)
        assert problem["type"] == f"urn:foretell:problem:{name}"
        assert problem["status"] == status
        assert self.headers["x-request-id"]
        return str(problem["detail"])


class RawServer:
    """A port, and what stands behind it."""

    def __init__(self, port: int, metrics: Metrics, state: ServerState) -> None:
        self.port = port
        self.metrics = metrics
        self.state = state
        self.engine = FakeEngine()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def send(self, *parts: bytes, close: bool = False) -> list[RawAnswer]:
        """Send parts, and return every answer until the server closes."""
        reader, writer = await self.connect()
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0)
        if close:
            writer.write_eof()
        try:
            return await answers(reader)
        finally:
            writer.close()

    def counted(self, operation: str, status: int) -> bool:
        """Return whether a request was counted so."""
        return status in self.metrics._operations[operation].statuses


async def answers(reader: asyncio.StreamReader) -> list[RawAnswer]:
    """Read every answer until the other side closes."""
    found = []
    async with asyncio.timeout(20):
        while answer := await one_answer(reader):
            found.append(answer)
    return found


async def one_answer(reader: asyncio.StreamReader) -> RawAnswer | None:
    """Read one answer; None: there is none any more."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode().rstrip().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return RawAnswer(int(first.split()[1]), headers, body)


@asynccontextmanager
async def raw_server(
    limits: Limits | None = None, *, access_log: bool = False
) -> AsyncIterator[RawServer]:
    """Serve at a free port, with a campaign to decide on."""
    limits = limits or Limits()
    engine = FakeEngine()
    metrics = Metrics(engine)
    web: Any = ShutdownMiddleware(app(cast("Engine", engine), limits, metrics))
    if access_log:
        web = AccessLogMiddleware(web)
    config = uvicorn.Config(web, ws="none", lifespan="off", log_config=None, access_log=False)
    config.load()
    state = ServerState()
    make = connection_factory(limits, metrics, access_log=access_log)
    server = await asyncio.get_running_loop().create_server(
        lambda: make(config=config, server_state=state, app_state={}), "127.0.0.1", 0
    )
    served = RawServer(server.sockets[0].getsockname()[1], metrics, state)
    served.engine = engine
    await engine.create(protocol.NewCampaign("hero", ["a", "b"], ["none", "click"]), None)
    try:
        yield served
    finally:
        server.close()
        for connection in list(state.connections):
            connection.transport.abort()
        for task in list(state.tasks):
            task.cancel()
        await asyncio.sleep(0.01)


def served(
    work: Callable[[RawServer], Awaitable[None]], limits: Limits | None = None, run: object = None
) -> None:
    """Do some work with a server that runs as long."""

    async def whole() -> None:
        async with raw_server(limits) as server:
            await work(server)

    (run or asyncio.run)(whole())  # type: ignore[operator]
