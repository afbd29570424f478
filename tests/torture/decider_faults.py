"""Faults of deciders and of their database, under load; and the promise, checked from outside.

Whatever happens to three deciders and to PostgreSQL: all that was acknowledged is in the log once,
what was raced through two deciders has one winner, all of them come to the same states, and all
goes on by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg

from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.postgres.streams import read_watermark
from tests.service.log.postgres.cutting_proxy import Cut
from tests.torture.changes import CAMPAIGNS
from tests.torture.deciders import (
    HARM,
    TIMING,
    AnyDecider,
    Cluster,
    Decider,
    OneDecider,
    cluster,
    open_transaction,
)
from tests.torture.examine import Totals, examine
from tests.torture.traffic import Traffic
from tests.torture.verbs import NoAnswer

LEASE = float(TIMING["lease_seconds"])
WORKERS = 8
STUCK_SECONDS = 180.0
"""Seconds in which a cluster must go on after a fault."""
PROGRESS = 10
"""Answers after which it goes on."""
CUT_SECONDS = 10.0
Tell = Callable[[Totals], None]


class DeciderFaults:
    """A cluster under load, and what is done to it."""

    def __init__(self, found: Cluster, rng: random.Random, totals: Totals) -> None:
        self.cluster = found
        self.rng = rng
        self.totals = totals
        self.traffic = Traffic(rng)
        self.traffic.batch = 20, 80
        self.service = AnyDecider(found.deciders, rng)
        self.stopping = asyncio.Event()

    async def load(self) -> None:
        """Send, until told to stop; what is not answered may have been done."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work())

    async def _work(self) -> None:
        while not self.stopping.is_set():
            with contextlib.suppress(NoAnswer):
                await self.traffic.one(self.service)

    async def goes_on(self) -> bool:
        """Wait until requests are answered again; return whether they are."""
        done = self.traffic.book.done
        until = done.total() + PROGRESS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STUCK_SECONDS):
                while done.total() < until:  # noqa: ASYNC110  (nothing tells of it)
                    await asyncio.sleep(0.02)
        return done.total() >= until

    def _one(self) -> Decider:
        return self.rng.choice([one for one in self.cluster.deciders if one.web is not None])

    async def kill(self) -> None:
        """Kill a decider, and start it again."""
        decider = self._one()
        await decider.kill()
        await asyncio.sleep(self.rng.uniform(0.0, 0.2))
        await decider.start()

    async def stop(self) -> None:
        """Stop a decider for longer than the lease, and let it go on."""
        decider = self._one()
        decider.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(LEASE * self.rng.uniform(1.1, 1.5))
        finally:
            decider.send(signal.SIGCONT)

    async def _cut(self, when: Cut) -> None:
        proxy = self._one().proxy
        cuts = proxy.cuts
        proxy.cut(when, self.rng.choice((b"signal-", b"reward-", b"key-")))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CUT_SECONDS):
                while proxy.cuts == cuts:  # noqa: ASYNC110  (nothing tells of it)
                    await asyncio.sleep(0.01)

    async def cut_before(self) -> None:
        """Cut a connection before its statement arrives."""
        await self._cut("before")

    async def cut_after(self) -> None:
        """Cut a connection when its statement is carried out, before the answer."""
        await self._cut("after")

    async def turn_clock(self) -> None:
        """Turn the clock of a decider by seconds, now and then by too many."""
        decider = self._one()
        decider.clock.turn(f"{self.rng.uniform(-4.0, 4.0):+.3f}")
        if self.rng.random() < 0.3:
            decider.clock.turn(self.rng.choice(("+9", "-9")))
            await asyncio.sleep(0.5)
            decider.clock.turn("+0")

    async def crash_database(self) -> None:
        """Let PostgreSQL crash, and start it again."""
        await asyncio.to_thread(self.cluster.database.stop, signal.SIGQUIT)
        await asyncio.to_thread(self.cluster.database.start)

    async def leave_transaction(self) -> None:
        """Leave a transaction of another application open."""
        async with open_transaction(self.cluster.dsn):
            await self.goes_on()

    async def open_stream(self) -> None:
        """Open a stream while others are in the middle of a commit."""
        connection = await asyncpg.connect(self.cluster.dsn)
        try:
            async with connection.transaction():
                await connection.execute("LOCK TABLE foretell.events IN SHARE ROW EXCLUSIVE MODE")
                await asyncio.sleep(0.1)  # those that commit have moved their heads, and wait
                with contextlib.suppress(LogClosed):
                    log = await PostgresLog.open(self.cluster.dsn)
                await asyncio.sleep(0.1)
            await log.close()
        finally:
            await connection.close()

    async def fill_disk(self) -> None:
        """Fill the disk of PostgreSQL up, and free it."""
        refused = self.traffic.refused
        before = refused.total()
        await self.cluster.fill_disk()
        try:
            async with asyncio.timeout(STUCK_SECONDS):
                while refused.total() < before + PROGRESS:  # noqa: ASYNC110  (nothing tells of it)
                    await asyncio.sleep(0.02)
        except TimeoutError:
            self.totals.violations.append("failed: a full disk refuses nothing")
        finally:
            await self.cluster.free_disk()

    @property
    def faults(self) -> dict[str, Callable[[], Awaitable[None]]]:
        """All faults, by what the report calls them."""
        return {
            "decider killed": self.kill,
            "decider stopped": self.stop,
            "cut before the commit": self.cut_before,
            "cut after the commit": self.cut_after,
            "clock turned": self.turn_clock,
            "database crashed": self.crash_database,
            "transaction left open": self.leave_transaction,
            "stream opened in a commit": self.open_stream,
            "disk full": self.fill_disk,
        }

    async def run(self, deck: list[str], records: int, tell: Tell) -> None:
        """Do all that a deck says to the cluster, and go on until there are enough records."""
        while not all(self.traffic.made(name) for name in CAMPAIGNS):
            with contextlib.suppress(NoAnswer):
                await self.traffic.set_up(self.service)
        load = asyncio.create_task(self.load())
        try:
            for name in deck:
                await self.faults[name]()
                self.totals.kills += 1
                self.totals.by_kind[name] += 1
                if not await self.goes_on():
                    self.totals.violations.append(f"stuck: nothing is answered after: {name}")
                    break
                tell(self.totals)
            while await self._count() < records and not self.totals.violations:
                if not await self.goes_on():
                    self.totals.violations.append("stuck: nothing is answered")
        finally:
            self.stopping.set()
            await load

    async def _count(self) -> int:
        connection = await asyncpg.connect(self.cluster.dsn)
        try:
            return int(await connection.fetchval("SELECT count(*) FROM foretell.events"))
        finally:
            await connection.close()

    async def check(self) -> None:
        """Hold the book against the log, and every decider against its states."""
        for name in CAMPAIGNS:
            await self.traffic.changes.set_status(self.service, name, "start")
        await self.traffic.resend(OneDecider(self._one()), WORKERS)
        await self._until_complete()
        records = 0
        for decider in self.cluster.deciders:
            service = OneDecider(decider)
            found = await examine(self.cluster.dsn, self.traffic.book, service, self.totals)
            records = found.records
        self.totals.violations += self.traffic.failures
        self.totals.violations += [f"state: {one}" for one in HARM.findall(self.cluster.logged())]
        self.totals.add(self.traffic.book, records)
        self.totals.dealt.update(self.cluster.counts())

    async def _until_complete(self) -> None:
        """Wait until all that was answered can be read: the slowest stream may lag behind it."""
        connection = await asyncpg.connect(self.cluster.dsn)
        try:
            written = await connection.fetchval("SELECT max(head) FROM foretell.streams")
            async with asyncio.timeout(STUCK_SECONDS):
                while await read_watermark(connection) < written:  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        finally:
            await connection.close()


async def run(
    folder: Path,
    seed: int,
    times: int,
    records: int,
    *,
    broken: str = "",
    only: tuple[str, ...] = (),
    tell: Tell = lambda _: None,
) -> Totals:
    """Do each fault so many times, in any order, to three deciders; check everything."""
    rng = random.Random(seed)  # noqa: S311
    totals = Totals()
    async with cluster(folder, 3, broken) as found:
        faults = DeciderFaults(found, rng, totals)
        deck = [name for name in only or faults.faults for _ in range(times)]
        rng.shuffle(deck)
        deck.sort(key="disk full".__eq__)  # by then the files are large enough
        await faults.run(deck, records, tell)
        try:
            await faults.check()
        except Exception as error:  # noqa: BLE001  (what cannot be checked is not as promised)
            totals.violations.append(f"failed: the log could not be checked: {error!r}")
    return totals
