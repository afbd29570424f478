"""An I/O error at the n-th call into the database: at a start, while serving, in a restore.

The same seed makes the same calls, so every one of them fails once. What was answered is kept,
what fails says so in a sentence, and afterwards a start succeeds.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
import tempfile
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any, Literal

import apsw

from foretell.errors import ForetellError
from tests.simulation.run import place_for_databases, quiet
from tests.simulation.server import Network, Server, simulated
from tests.simulation.virtual_time import VirtualLoop, VirtualTime, on_virtual_time
from tests.torture.disk import Disk
from tests.torture.examine import Totals, examine
from tests.torture.traffic import Traffic

Phase = Literal["start", "serving", "restore"]
PHASES: tuple[Phase, ...] = ("start", "serving", "restore")
EVENTS = 20
"""Events that are sent while an error may come."""
EVENTS_BEFORE = {"start": 50, "serving": EVENTS, "restore": EVENTS}
"""Events that are sent before: a start reads what has come since the last checkpoint."""


class FailingDisk(Disk):
    """A disk under every database, of whose calls one fails, or all from one on."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, default=True)
        self.calls = 0
        self.at = 0
        self.lasting = False
        self.failed = False

    def arm(self, at: int, *, lasting: bool) -> None:
        """Let the n-th call from now on fail."""
        self.calls, self.at, self.lasting = 0, at, lasting

    def disarm(self) -> None:
        """Let no call fail any more."""
        self.at = 0

    def step(self, operation: str, path: str) -> None:
        self._count(operation)
        super().step(operation, path)

    def look(self, operation: str, path: str) -> None:
        self._count(operation)

    def _count(self, operation: str) -> None:
        self.calls += 1
        if self.at and (self.calls == self.at or (self.lasting and self.calls > self.at)):
            self.failed = True
            raise apsw.IOError(f"the {operation} failed")


class Attempt:
    """One run of a phase with an error at one call."""

    def __init__(self, folder: Path, virtual: VirtualTime, at: int, *, lasting: bool) -> None:
        self.path = folder / "live.db"
        self.virtual = virtual
        self.at, self.lasting = at, lasting
        self.network = Network(virtual)
        self.traffic = Traffic(virtual.rng, folder)
        self.totals = Totals()
        self.failed = False

    async def run(self, phase: Phase) -> None:
        """Prepare a database, let a call fail in a phase, and look at what is left."""
        server = await self._started()
        await self.traffic.set_up(self.network)
        await self._load(EVENTS_BEFORE[phase])
        if phase == "start":
            await self._crashed(server)
            await self._start_with_an_error()
        else:
            await self.traffic.changes.back_up(self.network)
            await self._load(3)
            server.disk.arm(self.at, lasting=self.lasting)  # type: ignore[attr-defined]
            work = self.traffic.changes.restore(self.network) if phase == "restore" else None
            await (work or self._load(EVENTS))
            await self._healed(server)
            await self._examined()
            await self._crashed(server)
        server = await self._started()
        await self._examined()
        await self.traffic.resend(self.network)
        await self._examined()
        await server.stop()
        self.totals.violations += self.traffic.failures + self.traffic.book.history.violations()

    async def _started(self) -> Server:
        server = Server(self.path, self.virtual, FailingDisk(self.path))
        await server.start()
        self.network.server = server
        return server

    async def _start_with_an_error(self) -> None:
        disk = FailingDisk(self.path)
        disk.arm(self.at, lasting=self.lasting)
        server = Server(self.path, self.virtual, disk)
        try:
            await server.start()
        except (ForetellError, OSError) as error:
            if len(str(error)) < 20 or "Error(" in str(error):
                self.totals.violations.append(f"failed: a start says only {error!r}")
            disk.disarm()
            self.failed |= disk.failed
            disk.unregister()
            return
        self.network.server = server
        await self._healed(server)
        await self._examined()
        await self._crashed(server)

    async def _load(self, events: int) -> None:
        await self.traffic.run(self.network, events, workers=2)

    async def _healed(self, server: Server) -> None:
        """Let the disk be sound again, and wait until the log is open."""
        disk = server.disk
        assert isinstance(disk, FailingDisk)
        self.failed |= disk.failed
        disk.disarm()
        await server.drained()
        for _ in range(300):
            if server.engine is not None and server.engine.runtime.closed is None:
                return
            await asyncio.sleep(1.0)
        self.totals.violations.append("failed: the log does not open again")

    async def _examined(self) -> None:
        await examine(str(self.path), self.traffic.book, self.network, self.totals)

    async def _crashed(self, server: Server) -> None:
        """End without a word, with all that was written."""
        await server.bury()


def attempt(phase: Phase, at: int, *, lasting: bool = False) -> Attempt:
    """Let the n-th call of a phase fail."""
    virtual = VirtualTime(random.Random(1))  # noqa: S311
    with _folder() as folder, on_virtual_time(virtual), simulated(virtual), quiet():
        made = Attempt(folder, virtual, at, lasting=lasting)
        _run(virtual, made.run(phase))
    return made


def calls_that_fail(phase: Phase, every: int, first: int = 1) -> Iterator[tuple[int, Attempt]]:
    """Yield an attempt for every so many calls of a phase, until it makes no more calls.

    In every second one, all calls after it fail too, until the phase is over.
    """
    at = first
    while True:
        made = attempt(phase, at)
        if not made.failed:
            return
        yield at, made
        if at // every % 2 == 0:
            yield at, attempt(phase, at, lasting=True)
        at += every


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="io-errors-", dir=place_for_databases()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(virtual: VirtualTime, work: Coroutine[Any, Any, None]) -> None:
    loop = VirtualLoop(virtual)
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()
