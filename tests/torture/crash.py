"""The crash loop: a loaded server is killed again and again, and nothing it said is ever untrue."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from tests.torture.book import FEEDBACK
from tests.torture.examine import Totals, examine
from tests.torture.power_cuts import remove
from tests.torture.server import LENGTH, Start
from tests.torture.traffic import Traffic
from tests.torture.verbs import Body, NoAnswer, Refused

ROOT = Path(__file__).parents[2]
MANY_RECORDS = 2500
"""A database with more records is done with, so that checks stay quick."""
RESTORED = 0.3
"""The share of lives in which the last copy is restored."""
DEATHS = (
    "time",
    "time",
    "start",
    "operation",
    "operation",
    "database",
    "before-commit",
    "after-commit",
    "save",
    "refit",
    "refitted",
    "first-operations",
    "term",
)


class Nursery:
    """The process from which servers are forked."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._turn = asyncio.Lock()

    async def start(self, start: Start) -> int:
        """Start a server, and return its process id."""
        pipe_in, pipe_out = self.process.stdin, self.process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        async with self._turn:
            pipe_in.write(msgspec.json.encode(start) + b"\n")
            return int(await pipe_out.readline())


@contextlib.asynccontextmanager
async def nursery(**variables: str) -> AsyncIterator[Nursery]:
    """Start the process from which servers are forked, with more variables, and end it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.torture.server",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | variables,
    )
    try:
        yield Nursery(process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


class Link:
    """A connection to a server, with many requests under way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.waiting: dict[int, asyncio.Future[tuple[int, Any]]] = {}
        self.number = 0
        self.lost = asyncio.Event()
        self.task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        try:
            while True:
                (length,) = LENGTH.unpack(await self.reader.readexactly(4))
                number, status, answer = msgspec.msgpack.decode(
                    await self.reader.readexactly(length)
                )
                future = self.waiting.pop(number)
                if not future.done():
                    future.set_result((status, answer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        self.lost.set()
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(NoAnswer())

    async def call(self, verb: str, body: Body) -> Any:
        """Ask the server."""
        if self.lost.is_set() or self.writer.is_closing():
            raise NoAnswer
        self.number += 1
        future = asyncio.get_running_loop().create_future()
        self.waiting[self.number] = future
        packed = msgspec.msgpack.encode((self.number, verb, body))
        self.writer.write(LENGTH.pack(len(packed)) + packed)
        status, answer = await future
        if status != 200:
            raise Refused(status, answer)
        return answer

    async def close(self) -> None:
        """Hang up."""
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()
        await self.task


async def connected(socket: str, process: int, patience: float = 60.0) -> Link | None:
    """Connect to a server that is starting; None if it ended before."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            return Link(*await asyncio.open_unix_connection(socket))
        except (FileNotFoundError, ConnectionRefusedError):
            if not alive(process):
                return None
            await asyncio.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    raise AssertionError("a server did not start")


def alive(process: int) -> bool:
    """Return whether anything of a process is left; the nursery reaps it when nothing is."""
    return Path(f"/proc/{process}").exists()


async def gone(process: int, sent: signal.Signals | None = signal.SIGKILL) -> None:
    """Kill a process and wait until it is gone."""
    if sent is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, sent)
    while alive(process):  # noqa: ASYNC110  (nothing tells of a process that is not our child)
        await asyncio.sleep(0.001)


class CrashLoop:
    """One database after another, each under a server that is killed again and again."""

    def __init__(
        self, folder: Path, seed: int, *, broken: str = "", durability: str = "full"
    ) -> None:
        self.folder = folder
        self.rng = random.Random(seed)  # noqa: S311
        self.broken = broken
        self.durability = durability
        self.totals = Totals()
        self.databases = 0

    async def run(
        self, kills: int, tell: Callable[[Totals], None] = lambda _: None, most: int = 20
    ) -> Totals:
        """Kill so many times, or until there are more violations than `most`."""
        async with nursery() as servers:
            while self.totals.kills < kills and len(self.totals.violations) < most:
                await self._database(servers, kills, tell, most)
        return self.totals

    async def _database(
        self, servers: Nursery, kills: int, tell: Callable[[Totals], None], most: int
    ) -> None:
        self.databases += 1
        path = self.folder / f"{self.databases}.db"
        traffic = Traffic(self.rng, self.folder)
        records = 0
        while (
            self.totals.kills < kills
            and records < MANY_RECORDS
            and len(self.totals.violations) < most
        ):
            death = self.rng.choice(DEATHS)
            await self._life(servers, path, traffic, death)
            self.totals.kills += death != "term"
            self.totals.by_kind[death] += 1
            found = await self._checked(servers, path, traffic)
            records = found
            self.totals.violations += traffic.failures
            traffic.failures.clear()
            tell(self.totals)
        remove(path)
        self.totals.add(traffic.book, records)

    def _start(self, path: Path, death: str) -> Start:
        start = Start(str(path), self._socket(), self.broken, durability=self.durability)
        start.how = self.rng.choice(("before", "after", "half"))
        match death:
            case "operation":
                start.dies, start.at = "operation", int(2 ** self.rng.uniform(3, 9))
            case "first-operations":
                start.dies, start.at = "operation", self.rng.randint(1, 12)
            case "database":
                start.dies, start.at = "database", self.rng.randint(1, 60)
            case "before-commit" | "after-commit":
                start.dies, start.at = death, self.rng.randint(1, 60)
            case "save":
                start.dies, start.at = death, self.rng.randint(1, 3)
            case "refit":
                start.dies, start.at = death, int(2 ** self.rng.uniform(0, 9))
            case "refitted":
                start.dies, start.at = death, self.rng.randint(1, 3)
        return start

    def _socket(self) -> str:
        return tempfile.mktemp(prefix="torture-", suffix=".sock")  # noqa: S306

    async def _life(self, servers: Nursery, path: Path, traffic: Traffic, death: str) -> None:
        """Start a server, load it, and let it die."""
        start = self._start(path, death)
        process = await servers.start(start)
        if death == "start":
            await asyncio.sleep(self.rng.uniform(0.0, 0.03))
            await gone(process)
            self._buried(start)
            return
        link = await connected(start.socket, process)
        if link is not None:
            load = asyncio.create_task(self._load(traffic, link))
            longest = self.rng.uniform(0.005, 0.25) if death == "time" else 1.0
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(load), longest)
            await gone(process, signal.SIGTERM if death == "term" else signal.SIGKILL)
            await load
            await link.close()
        await gone(process)
        self._buried(start)

    def _buried(self, start: Start) -> None:
        """Clean up after a server, and note if it failed of itself."""
        Path(start.socket).unlink(missing_ok=True)
        why = Path(start.socket + ".error")
        if why.exists():
            self.totals.violations.append(f"failed: {why.read_text().strip()}")
            why.unlink()

    async def _load(self, traffic: Traffic, link: Link) -> None:
        with contextlib.suppress(NoAnswer):
            await traffic.set_up(link)
            await traffic.resend(link)
            await traffic.changes.restore_or_copy(link, RESTORED)
            await traffic.run(link, events=250)

    async def _checked(self, servers: Nursery, path: Path, traffic: Traffic) -> int:
        """Start a server that is left alone, check it, send again what is open, check again."""
        start = Start(str(path), self._socket(), self.broken, durability=self.durability)
        process = await servers.start(start)
        link = await connected(start.socket, process)
        if link is None:
            self._buried(start)
            self.totals.violations.append("failed: a server that was killed does not start again")
            return MANY_RECORDS
        try:
            found = await examine(str(path), traffic.book, link, self.totals)
            if self.rng.random() < 0.25:
                await traffic.set_up(link)
                await traffic.resend(link)
                found = await examine(str(path), traffic.book, link, self.totals)
                left = [item.name for item in traffic.book.open() if item.verb in FEEDBACK]
                self.totals.violations += [f"lost: {name} finds no answer" for name in left]
        finally:
            await link.close()
            await gone(process)
            self._buried(start)
        return found.records
