"""Several `foretell serve` on one PostgreSQL: what is done to them, and what they answer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg

from foretell.service.log.postgres.connection import connect, prepare
from foretell.service.log.postgres.settings import write_settings
from tests.service.log.postgres.cutting_proxy import CuttingProxy
from tests.service.log.postgres_server import PostgresServer, server_user
from tests.service.turned_clock import TurnedClock
from tests.torture.crash import Nursery, alive, gone, nursery
from tests.torture.server import Start
from tests.torture.verbs import Body, NoAnswer, Refused
from tests.torture.web import ADDRESS, Web

TIMING: dict[str, str | float] = {
    "poll_seconds": 0.04,
    "beat_seconds": 0.1,
    "lease_seconds": 3.0,
    "lag_seconds": 2.0,
}
AWAY_SECONDS = 0.05
"""Seconds after which a client asks again that was refused because the log is closed."""
READY_SECONDS = 120.0
WAL_SEGMENT = 1 << 20
"""The size of the files of the write-ahead log, which are to be written in spite of all."""
SIGNS = {
    "sealings": re.compile("has stopped, and is sealed"),
    "takeovers": re.compile("is folded here from now on"),
    "retries": re.compile("was lost .*, and is back"),
}
"""What deciders log when they have dealt with a fault."""
HARM = re.compile(".* stops: .*|.* goes on, built again .*|.*have come to different states.*")
"""What deciders log when a campaign was not served for a while, or not as its log says."""


EVENTS = (
    "FROM pg_class WHERE relkind = 'r' AND relname LIKE 'events%' "
    "AND relnamespace = 'foretell'::regnamespace"
)
"""The tables that records are in."""


class Decider:
    """One `foretell serve`, with a proxy between it and the database, and a clock of its own."""

    def __init__(self, folder: Path, number: int, servers: Nursery, proxy: CuttingProxy) -> None:
        self.folder = folder / f"decider-{number}"
        self.folder.mkdir()
        self.number = number
        self.proxy = proxy
        self.clock = TurnedClock(self.folder)
        self.broken = ""
        self.web: Web | None = None
        self.process = 0
        self._servers = servers
        self._starts = 0

    @property
    def path(self) -> Path:
        """What its files are called after."""
        return self.folder / f"start-{self._starts}"

    async def start(self) -> None:
        """Start it, and wait until it serves."""
        self._starts += 1
        clock = self.clock.variables["FAKETIME_TIMESTAMP_FILE"]
        start = Start(
            *(str(self.path), str(self.path)),
            broken=self.broken,
            serve=True,
            db=self.proxy.dsn,
            clock=clock,
        )
        self.process = await self._servers.start(start)
        printed = self.path.with_suffix(".printed")
        async with asyncio.timeout(READY_SECONDS):
            while not printed.exists() or not (found := ADDRESS.search(printed.read_text())):
                if not alive(self.process):  # the database was away
                    self.process = await self._servers.start(start)
                await asyncio.sleep(0.02)
        self.web = Web(found[0])

    async def kill(self) -> None:
        """Kill it."""
        web, self.web = self.web, None
        if self.process:
            await gone(self.process)
        if web is not None:
            await web.client.aclose()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.process, number)

    def logged(self) -> str:
        """Return what it has logged, in all its lives."""
        return "".join(path.read_text() for path in sorted(self.folder.glob("*.said")))


class AnyDecider:
    """Asks one of the deciders, another each time, as a load balancer does."""

    def __init__(self, deciders: list[Decider], rng: random.Random) -> None:
        self.deciders = deciders
        self.rng = rng

    async def call(self, verb: str, body: Body) -> Any:
        """Ask one that serves."""
        serving = [one.web for one in self.deciders if one.web is not None]
        if not serving:
            await asyncio.sleep(AWAY_SECONDS)
            raise NoAnswer
        try:
            return await self.rng.choice(serving).call(verb, body)
        except Refused as refused:
            if refused.status == 503:
                await asyncio.sleep(AWAY_SECONDS)
            raise
        except RuntimeError:  # its client was closed meanwhile
            raise NoAnswer from None


class OneDecider:
    """Asks one of the deciders, until it serves."""

    def __init__(self, decider: Decider) -> None:
        self.decider = decider

    async def call(self, verb: str, body: Body) -> Any:
        """Ask again while the log is closed."""
        async with asyncio.timeout(READY_SECONDS):
            while True:
                try:
                    assert self.decider.web is not None
                    return await self.decider.web.call(verb, body)
                except Refused as refused:
                    if refused.status != 503:
                        raise
                await asyncio.sleep(AWAY_SECONDS)


class Cluster:
    """A PostgreSQL, and deciders on it."""

    def __init__(self, database: PostgresServer, deciders: list[Decider]) -> None:
        self.database = database
        self.deciders = deciders
        self.dsn = database.dsn()

    def logged(self) -> str:
        """Return what the deciders have logged."""
        return "".join(one.logged() for one in self.deciders)

    def counts(self) -> dict[str, int]:
        """Count what the deciders have logged of the faults that they have dealt with."""
        logged = self.logged()
        return {name: len(sign.findall(logged)) for name, sign in SIGNS.items()}

    async def restart_database(self) -> None:
        """Let the server crash, and start it again."""
        await asyncio.to_thread(self.database.stop, signal.SIGQUIT)
        await asyncio.to_thread(self.database.start)

    async def fill_disk(self) -> None:
        """Let the table of events become no larger: that needs no disk of its own."""
        connection = await asyncpg.connect(self.dsn)
        try:
            size = await connection.fetchval(f"SELECT max(pg_relation_size(oid)) {EVENTS}")
        finally:
            await connection.close()
        await self._limit_files(f"{max(WAL_SEGMENT, size)}:")

    async def free_disk(self) -> None:
        """Let the server write files of any size."""
        await self._limit_files("unlimited:")

    async def _limit_files(self, most: str) -> None:
        """Limit what each process of the server may write, as the user that it runs as."""
        assert self.database.process is not None
        server = self.database.process.pid
        for process in [server, *_children(server)]:
            limit = await asyncio.create_subprocess_exec(
                *("prlimit", f"--pid={process}", f"--fsize={most}"),
                stderr=asyncio.subprocess.DEVNULL,  # one may have ended
                user=server_user(),
            )
            await limit.wait()


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(one) for one in found.split()]


@asynccontextmanager
async def cluster(folder: Path, count: int, broken: str = "") -> AsyncIterator[Cluster]:
    """Start a server of PostgreSQL, and deciders on it, broken or not; leave nothing."""
    async with AsyncExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pg-")))
        os.chmod(place, 0o755)  # noqa: PTH101, S103  (the server runs as another user)
        database = PostgresServer(
            place / "db",
            max_wal_size="64MB",
            autovacuum="on",
            full_page_writes="on",  # a crash may kill a process in the middle of a page
        )
        await asyncio.to_thread(database.make)
        await asyncio.to_thread(database.start)
        stack.callback(database.stop, signal.SIGQUIT)
        await _make_log(database.dsn())
        clock = TurnedClock(folder)
        servers = await stack.enter_async_context(nursery(**clock.variables))
        deciders = []
        for number in range(count):
            (place / f"{number}").mkdir()
            proxy = CuttingProxy(database.dsn(), place / f"{number}")
            await stack.enter_async_context(proxy)
            deciders.append(Decider(folder, number, servers, proxy))
            deciders[-1].broken = broken
            stack.push_async_callback(deciders[-1].kill)
        await asyncio.gather(*(one.start() for one in deciders))
        yield Cluster(database, deciders)


async def _make_log(dsn: str) -> None:
    connection = await connect(dsn)
    try:
        await prepare(connection, dsn)
        await write_settings(connection, **TIMING)
        await connection.execute("CREATE TABLE public.another (n integer)")
        for row in await connection.fetch(f"SELECT oid::regclass::text AS name {EVENTS}"):
            await connection.execute(f"ALTER TABLE {row['name']} SET (fillfactor = 10)")
    finally:
        await connection.close()


@asynccontextmanager
async def open_transaction(dsn: str) -> AsyncIterator[None]:
    """Leave a transaction of another application open that has written something."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("BEGIN")
        await connection.execute("INSERT INTO public.another VALUES (1)")
        yield
    finally:
        with contextlib.suppress(OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            await connection.close(timeout=1)
