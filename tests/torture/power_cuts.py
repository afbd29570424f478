"""Power cuts: everything that was not synced is gone, and nothing that was answered is.

An engine runs on a disk that can lose power, under load, until the disk dies at some operation.
What the platter then holds is opened by a new engine, and held against the load's book. It may
lose power again while it starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import apsw

from foretell.errors import ForetellError
from foretell.service.engine import Engine, maintenance
from foretell.service.log.sqlite import connections
from foretell.service.log.sqlite import database as databases
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.database import Database
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.writer import Writer
from foretell.service.model.decision_id import read_decision_id
from tests.torture.changes import SIGNALS
from tests.torture.disk import LOSSES, Disk, Fault
from tests.torture.examine import Totals, examine
from tests.torture.replay import LogContents
from tests.torture.traffic import Traffic
from tests.torture.verbs import NoAnswer, Refused, Within

MANY_RECORDS = 1200
"""A database with more records is done with."""


def database_of(engine: Engine) -> Database:
    """Return the database that an engine's log is in."""
    assert isinstance(engine.runtime.log, SqliteLog)
    return engine.runtime.log._database


def set_checkpoint(engine: Engine, pages: int) -> None:
    """Let the journal be moved to the database when it has so many pages."""
    database_of(engine)._writer.checkpoint_pages = pages


async def abandon(engine: Engine) -> None:
    """Let go of an engine whose disk is dead, as if its process had ended."""
    for task in engine.tasks:
        task.cancel()
    await asyncio.gather(*engine.tasks, return_exceptions=True)
    await engine._stop_folding()
    database = database_of(engine)
    await database._watch.stop()
    if database._reopening is not None:
        database._reopening.cancel()
        await asyncio.gather(database._reopening, return_exceptions=True)
    database.closed = "the power is gone"
    database._fail_jobs()
    await database._stop()
    database._opened.abandon()
    database._lock.release()


def remove(path: Path) -> None:
    """Remove a database."""
    for ending in ("", "-wal", "-shm", ".lock"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


@contextlib.contextmanager
def without_sync() -> Iterator[None]:
    """Break every log that is opened meanwhile: it does not wait for the disk."""

    def careless(path: str, *, write: bool, vfs: str | None = None) -> apsw.Connection:
        connection = connect(path, write=write, vfs=vfs)
        if write:
            connection.pragma("synchronous", "off")
        return connection

    with (
        mock.patch.object(connections, "connect", careless),
        mock.patch.object(Writer, "_wait_for_disk"),
    ):
        yield


@contextlib.contextmanager
def hastily() -> Iterator[None]:
    """Save states often, and open a log again soon."""
    with (
        mock.patch.object(maintenance, "SAVE_RECORDS", 120),
        mock.patch.object(databases, "REOPEN_SECONDS", 0.01),
    ):
        yield


class PowerCuts:
    """One database after another, each of which loses power again and again."""

    def __init__(self, folder: Path, seed: int, *, durability: str = "full") -> None:
        self.folder = folder
        self.rng = random.Random(seed)  # noqa: S311
        self.durability = durability
        self.totals = Totals()
        self.images = 0
        self.failing = 0.0
        """The share of databases whose syncs fail now and then."""

    async def run(
        self, cuts: int, tell: Callable[[Totals], None] = lambda _: None, most: int = 20
    ) -> Totals:
        """Cut so many times, or until there are more violations than `most`."""
        with hastily():
            while self.totals.kills < cuts and len(self.totals.violations) < most:
                await self._database(cuts, tell, most)
        return self.totals

    async def _database(self, cuts: int, tell: Callable[[Totals], None], most: int) -> None:
        path = self._place()
        path.parent.mkdir(parents=True)
        traffic = Traffic(self.rng, self.folder)
        traffic.loses_decisions = self.durability == "relaxed"
        fails = self.rng.random() < self.failing
        records = 0
        while (
            self.totals.kills < cuts
            and records < MANY_RECORDS
            and len(self.totals.violations) < most
        ):
            image = await self._life(path, traffic, fails=fails)
            shutil.rmtree(path.parent)
            path = image
            records = await self._checked(path, traffic)
            self.totals.violations += traffic.failures
            traffic.failures.clear()
            tell(self.totals)
        shutil.rmtree(path.parent)
        traffic.changes.forget_copy()
        self.totals.add(traffic.book, records)

    def _place(self) -> Path:
        self.images += 1
        return self.folder / f"{self.images}" / "live.db"

    async def _life(self, path: Path, traffic: Traffic, *, fails: bool) -> Path:
        """Run under load until the power is gone; give what is left."""
        disk = Disk(path)
        loss = self.rng.choice(LOSSES)
        image = self._place()
        died = asyncio.Event()
        loop = asyncio.get_running_loop()

        def cut() -> None:
            disk.image(image.parent, loss, self.rng)
            loop.call_soon_threadsafe(died.set)

        disk.on_cut = cut
        disk.cut_at = int(2 ** self.rng.uniform(2, 10.5))
        if fails:
            disk.fault = failing_syncs(self.rng)
        self.totals.kills += 1
        self.totals.by_kind[f"{loss}{' after failed syncs' if fails else ''}"] += 1
        try:
            engine = await Engine.open(
                path, durability=self.durability, vfs=disk.name, compiled=False
            )
        except (ForetellError, apsw.Error):
            disk.cut()
            disk.unregister()
            return image
        set_checkpoint(engine, self.rng.choice((10, 40, 1000)))
        load = asyncio.create_task(self._load(traffic, engine))
        await asyncio.wait([load, asyncio.create_task(died.wait())], return_when="FIRST_COMPLETED")
        disk.cut()
        load.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await load
        await abandon(engine)
        disk.unregister()
        return image

    async def _load(self, traffic: Traffic, engine: Engine) -> None:
        service = Within(engine)
        with contextlib.suppress(NoAnswer, Refused):
            await traffic.resend(service)
            for _ in range(20):
                await traffic.set_up(service)
                await traffic.run(service, events=25)
                for _ in range(1000):
                    if engine.runtime.closed is None:
                        break
                    await asyncio.sleep(0.01)

    async def _checked(self, path: Path, traffic: Traffic) -> int:
        relaxed = self.durability == "relaxed"
        try:
            engine = await Engine.open(path, durability=self.durability, compiled=False)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is a violation)
            self.totals.violations.append(f"failed: it does not open after a cut: {error!r}")
            return MANY_RECORDS
        service = Within(engine)
        try:
            found = await examine(str(path), traffic.book, service, self.totals, relaxed=relaxed)
            if relaxed:
                traffic.book.history.forget_decisions()
                await self._park(traffic, service, found)
            if self.rng.random() < 0.3:
                await traffic.set_up(service)
                await traffic.resend(service)
                found = await examine(
                    str(path), traffic.book, service, self.totals, relaxed=relaxed
                )
        except Exception as error:  # noqa: BLE001  (the same)
            self.totals.violations.append(f"failed: it cannot be read after a cut: {error!r}")
            return MANY_RECORDS
        else:
            return found.records
        finally:
            if self.rng.random() < 0.5:
                await engine.close()
            else:
                await abandon(engine)

    async def _park(self, traffic: Traffic, service: Within, found: LogContents) -> None:
        """Send feedback on decisions that were answered and are lost: it belongs to none."""
        lost = [
            (campaign, decision)
            for campaign, decision in traffic.book.decisions
            if read_decision_id(decision, found.secrets) not in found.tokens
        ]
        self.totals.lost_decisions += len(lost)
        for campaign, decision in lost[-5:]:
            event_id = f"lost-{self.rng.random()}"
            report = {"signal": SIGNALS[campaign][0], "event_id": event_id}
            body = {"id": decision, "report": report}
            answer = await traffic.send(service, "signal", body, f"e/{campaign}/{event_id}")
            if answer != "parked":
                self.totals.violations.append(f"attributed: feedback on a lost decision {answer}")


def failing_syncs(rng: random.Random) -> Fault:
    """Let every so many syncs fail."""
    every = rng.randint(8, 60)
    left = [every]

    def fault(operation: str, _ending: str, _number: int) -> Exception | None:
        if operation == "sync":
            left[0] -= 1
            if left[0] <= 0:
                left[0] = rng.randint(1, every)
                return apsw.IOError("a sync failed")
        return None

    return fault
