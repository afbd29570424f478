"""A disk that is full or fails: the log closes, nothing answered is lost, and it opens again."""

from __future__ import annotations

import asyncio
import contextlib
import random
import resource
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import apsw

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.log.errors import LogClosed
from foretell.service.log.sqlite import writer
from tests.torture.disk import LOSSES, Disk, Fault, Loss
from tests.torture.examine import Totals, examine
from tests.torture.power_cuts import abandon, database_of, hastily, set_checkpoint
from tests.torture.traffic import Traffic
from tests.torture.verbs import Within

STUCK_SECONDS = 60.0
"""Seconds in which a log must open again."""


@contextlib.contextmanager
def quickly() -> Iterator[None]:
    """Try again soon, save states often, and let no journal fill a small disk by itself."""
    with hastily(), mock.patch.object(writer, "CHECKPOINT_PAGES", 100):
        yield


async def until(holds: Callable[[], bool]) -> bool:
    """Wait until something holds, and return whether it did in time."""
    for _ in range(int(STUCK_SECONDS / 0.01)):
        if holds():
            return True
        await asyncio.sleep(0.01)
    return False


async def reopened(engine: Engine) -> bool:
    """Wait until the log is open, and nothing that began on a bad disk can close it again."""
    for _ in range(10):
        if not await until(lambda: engine.runtime.closed is None):
            return False
        await until(lambda: not database_of(engine).jobs)
        await asyncio.sleep(0.01)
        if engine.runtime.closed is None:
            return True
    return False


async def refusals(engine: Engine, traffic: Traffic) -> list[str]:
    """Ask a closed engine for everything; each must be refused as closed, and not be there."""
    wrong = [] if engine.health().status == "closed" else ["failed: health says ok when closed"]
    decision = traffic.book.decisions[-1][1]
    asked: dict[str, Callable[[], Awaitable[Any]]] = {
        "decide": lambda: engine.decide("free", protocol.DecisionRequest(decision_key="refused")),
        "signal": lambda: engine.feedback(decision, protocol.SignalReport("low", "refused")),
        "reward": lambda: engine.feedback(
            decision, protocol.RewardReport(1.0, event_id="refused-too")
        ),
        "void": lambda: engine.feedback(decision, protocol.VoidReport("refused-as-well")),
        "batch": lambda: engine.batch([]),
        "history": lambda: engine.history(decision),
        "add_action": lambda: engine.add_action("free", protocol.NewAction("refused")),
    }
    refused = 0
    for what, ask in asked.items():
        if engine.runtime.closed is None:
            break  # it has opened again meanwhile
        try:
            answer = await ask()
        except LogClosed:
            refused += 1
            continue
        except Exception as error:  # noqa: BLE001  (anything else is a violation)
            wrong.append(f"failed: {what} raises {error!r} when closed")
        else:
            if answer:
                wrong.append(f"failed: {what} answers {answer!r} when closed")
    if refused == 0 and not wrong:
        wrong.append("failed: it opened again before anything was refused, so nothing was tried")
    return wrong


async def fill_up(
    path: Path,
    rng: random.Random,
    vfs: str | None,
    full: Callable[[], None],
    free: Callable[[], None],
) -> Totals:
    """Load an engine, fill its disk up, free some space, and see it go on by itself."""
    totals = Totals()
    traffic = Traffic(rng, path.parent)
    threads = threading.active_count()
    with quickly():
        engine = await Engine.open(path, vfs=vfs, compiled=False)
        service = Within(engine)
        await traffic.set_up(service)
        await traffic.run(service, 150)
        for _ in range(3):
            full()
            for _ in range(40):
                await traffic.run(service, 100)
                if engine.runtime.closed is not None:
                    break
            else:
                totals.violations.append("failed: the log stays open on a full disk")
            totals.violations += await refusals(engine, traffic)
            await asyncio.sleep(0.1)
            free()
            if not await reopened(engine):
                totals.violations.append("failed: the log does not open again")
                break
            totals.kills += 1
            found = await examine(str(path), traffic.book, service, totals)
            await traffic.resend(service)
            await traffic.changes.restore_or_copy(service, 0.5)
            await traffic.run(service, 100)
        found = await examine(str(path), traffic.book, service, totals)
        totals.violations += traffic.failures
        totals.add(traffic.book, found.records)
        await engine.close()
    if threading.active_count() > threads + 8:
        totals.violations.append(f"failed: {threading.active_count() - threads} threads are left")
    return totals


async def full_disk(folder: Path, seed: int) -> Totals:
    """Fill a disk that is simulated."""
    rng = random.Random(seed)  # noqa: S311
    disk = Disk(folder / "live.db")

    def full() -> None:
        disk.room = sum(Path(one).stat().st_size for one in disk.files if Path(one).exists())
        disk.room += rng.randrange(0, 60_000)

    def free() -> None:
        disk.room = None

    totals = await fill_up(folder / "live.db", rng, disk.name, full, free)
    disk.unregister()
    return totals


async def really_full_disk(folder: Path, seed: int) -> Totals:
    """Let the system itself refuse larger files: no file system need be mounted for that."""
    rng = random.Random(seed)  # noqa: S311
    path = folder / "live.db"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def full() -> None:
        room = path.stat().st_size + rng.randrange(0, 20_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))

    def free() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    try:
        return await fill_up(path, rng, None, full, free)
    finally:
        free()


def failing(
    operation: str, ending: str | None, after: int, times: int, kind: type[apsw.Error]
) -> Fault:
    """Let some operations on some files fail, from one on."""
    seen = [0]

    def fault(done: str, end: str, _number: int) -> Exception | None:
        if done == operation and ending in {None, end}:
            seen[0] += 1
            if after < seen[0] <= after + times:
                return kind(f"a {operation} failed")
        return None

    return fault


async def errors(folder: Path, seed: int, rounds: int) -> Totals:
    """Let operations of every kind fail, once or for a while, and check everything after each."""
    rng = random.Random(seed)  # noqa: S311
    totals = Totals()
    path = folder / "live.db"
    disk = Disk(folder / "live.db")
    traffic = Traffic(rng, folder)
    with quickly():
        engine = await Engine.open(path, vfs=disk.name, compiled=False)
        service = Within(engine)
        await traffic.set_up(service)
        records = 0
        for _ in range(rounds):
            set_checkpoint(engine, rng.choice((5, 20, 1000)))
            operation = rng.choice(("write", "sync", "sync", "truncate", "open", "delete", "read"))
            kind = rng.choice((apsw.IOError, apsw.FullError))
            if operation == "read":
                disk.reads_fail = True
            times = rng.choice((1, 1, 3, 12))
            ending = rng.choice((None, "", "-wal"))
            disk.fault = failing(operation, ending, rng.randrange(0, 12), times, kind)
            await traffic.run(service, 60)
            disk.fault, disk.reads_fail = (lambda *_: None), False
            if not await reopened(engine):
                totals.violations.append(f"failed: the log stays closed after {operation}")
                break
            records = (await examine(str(path), traffic.book, service, totals)).records
            await traffic.resend(service)
            totals.kills += 1
            totals.by_kind[operation] += 1
        totals.violations += traffic.failures
        totals.add(traffic.book, records)
        await engine.close()
    disk.unregister()
    return totals


async def untrusted_syncs(
    folder: Path,
    seed: int,
    cuts: int,
    tell: Callable[[Totals], None] = lambda _: None,
    durability: str = "full",
) -> Totals:
    """Let a sync fail, and soon after it the power: what failed to sync is never on the platter."""
    rng = random.Random(seed)  # noqa: S311
    totals = Totals()
    with quickly():
        for number in range(cuts):
            place = folder / f"{number}"
            place.mkdir()
            await _untrusted(place, rng, rng.choice(LOSSES[:3]), totals, durability)
            shutil.rmtree(place)
            tell(totals)
    return totals


async def _untrusted(
    folder: Path, rng: random.Random, loss: Loss, totals: Totals, durability: str
) -> None:
    disk = Disk(folder / "live.db")
    traffic = Traffic(rng, folder)
    traffic.loses_decisions = durability == "relaxed"
    image = folder / "image"
    died = asyncio.Event()
    loop = asyncio.get_running_loop()

    def cut() -> None:
        disk.image(image, loss, rng)
        loop.call_soon_threadsafe(died.set)

    disk.on_cut = cut
    engine = await Engine.open(
        folder / "live.db", vfs=disk.name, compiled=False, durability=durability
    )
    set_checkpoint(engine, rng.choice((5, 30, 1000)))
    service = Within(engine)
    await traffic.set_up(service)
    await traffic.run(service, 60)
    fails = failing("sync", rng.choice((None, "-wal")), rng.randrange(3), 1, apsw.IOError)
    closing = [int(rng.random() < 0.7)]  # then the journal stays as it is for the next to open

    def fault(operation: str, ending: str, number: int) -> Exception | None:
        error = fails(operation, ending, number)
        if error is not None:
            disk.cut_at = number + rng.randrange(1, 60)
        failed = disk.cut_at is not None and error is None
        if failed and closing[0] and (operation, ending) == ("write", ""):
            closing[0] = 0
            return apsw.IOError("a write failed")
        return error

    disk.fault = fault
    load = asyncio.create_task(_load(traffic, engine, service))
    await asyncio.wait([load, asyncio.create_task(died.wait())], return_when="FIRST_COMPLETED")
    disk.cut()
    load.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await load
    await abandon(engine)
    disk.unregister()
    totals.kills += 1
    totals.by_kind[loss] += 1
    path = image / "live.db"
    try:
        engine = await Engine.open(path, compiled=False)
    except Exception as error:  # noqa: BLE001  (whatever it is, it is a violation)
        totals.violations.append(f"lost: it does not open after a failed sync and a cut: {error!r}")
        return
    try:
        relaxed = durability == "relaxed"
        found = await examine(str(path), traffic.book, Within(engine), totals, relaxed=relaxed)
        totals.add(traffic.book, found.records)
    except Exception as error:  # noqa: BLE001  (the same)
        totals.violations.append(f"lost: it cannot be read: {error!r}")
    finally:
        await abandon(engine)


async def _load(traffic: Traffic, engine: Engine, service: Within) -> None:
    for _ in range(10):
        await traffic.run(service, 25)
        await until(lambda: engine.runtime.closed is None)
