"""A proxy in front of a PostgreSQL server that cuts connections when a test says so."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self
from urllib.parse import parse_qs, urlsplit

Cut = Literal["before", "after"]
SOCKET = ".s.PGSQL.5432"


class CuttingProxy:
    """Passes everything on, until it is told to cut: before a statement, or before its answer."""

    def __init__(self, dsn: str, folder: Path) -> None:
        host = parse_qs(urlsplit(dsn).query)["host"][0]
        self.dsn = dsn.replace(host, str(folder))
        self.cuts = 0
        self._server_socket = f"{host}/{SOCKET}"
        self._own_socket = folder / SOCKET
        self._armed: tuple[Cut, bytes] | None = None
        self._refusing = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_unix_server(self._serve, str(self._own_socket))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)

    def cut(self, when: Cut, statement: bytes) -> None:
        """Cut the connection of the next statement that has these bytes in what is sent."""
        self._armed = when, statement

    def refuse(self, *, refusing: bool) -> None:
        """Refuse connections, and cut those that there are."""
        self._refusing = refusing
        if refusing:
            for task in self._tasks:
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            up, down = await asyncio.open_unix_connection(self._server_socket)
        except OSError:  # the server itself is away
            self._tasks.discard(task)
            writer.transport.abort()
            return
        answering: list[bool] = [True]
        try:
            with suppress(OSError):
                async with asyncio.TaskGroup() as group:
                    group.create_task(self._pass_up(reader, down, writer, answering))
                    group.create_task(self._pass_down(up, writer, answering))
        except (asyncio.CancelledError, BaseExceptionGroup):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()
            try:
                await asyncio.sleep(0.05)  # the server may be carrying the statement out
            finally:
                down.transport.abort()

    async def _pass_up(
        self,
        reader: asyncio.StreamReader,
        down: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
        answering: list[bool],
    ) -> None:
        while data := await reader.read(1 << 16):
            if self._armed is not None and self._armed[1] in data:
                when, self._armed = self._armed[0], None
                self.cuts += 1
                if when == "before":
                    raise ConnectionAbortedError
                answering[0] = False
            down.write(data)
        raise ConnectionAbortedError

    async def _pass_down(
        self, up: asyncio.StreamReader, writer: asyncio.StreamWriter, answering: list[bool]
    ) -> None:
        while data := await up.read(1 << 16):
            if not answering[0]:
                raise ConnectionAbortedError
            writer.write(data)
        raise ConnectionAbortedError
