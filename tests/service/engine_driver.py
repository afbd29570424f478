"""An engine that a test drives call by call, on a clock that only the test moves.

It runs on the log that `LOG_ENGINE` names: `log_engines` is a fixture that tries them all.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self, TypeVar
from unittest import mock

import asyncpg
import msgspec
import pytest

from foretell import protocol
from foretell.policies.state import fingerprint
from foretell.service.engine import Engine, queries
from foretell.service.engine.replay import rebuild
from foretell.service.engine.verify import Verification, verify_log
from foretell.service.log import clock
from foretell.service.log.memory import MemoryLog
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.postgres.streams import read_open_streams, seal
from foretell.service.log.protocol import Log
from foretell.service.model.campaign import Campaign
from foretell.service.model.events import moment
from tests.service.log.postgres_server import borrowed_database, give_back_database

T = TypeVar("T")
START = 1_700_000_000_000_000
SECOND = 1_000_000
GRID = 10_000
"""Windows close on whole multiples of so many microseconds."""
LOG_ENGINES = ("memory", "sqlite", "postgres")
LOG_ENGINE = ["sqlite"]
"""The one that tests run on."""


@pytest.fixture(autouse=True, params=LOG_ENGINES)
def log_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run every test of a folder whose conftest imports this on each of the logs."""
    before, LOG_ENGINE[0] = LOG_ENGINE[0], request.param
    yield request.param
    LOG_ENGINE[0] = before
    release_databases()


TEST_CLOCK: dict[str, str | float] = {
    "clock": "deciders",
    "poll_seconds": 0.005,
    "beat_seconds": 1.0,
    "lease_seconds": 600.0,
}
"""The time is the test's, and while no test calls, nobody beats."""
_databases: dict[Path, str] = {}
"""The address of the database in PostgreSQL that is used in place of a file."""


def database_of(path: Path) -> str:
    """Return the address of the database in PostgreSQL that takes the place of a file."""
    if path not in _databases:
        _databases[path] = borrowed_database(**TEST_CLOCK)
    return _databases[path]


def release_databases() -> None:
    """Let the databases of a test be used by another."""
    for dsn in _databases.values():
        give_back_database(dsn, **TEST_CLOCK)
    _databases.clear()


class Machine:
    """The machine's clocks, in microseconds: only a test moves them."""

    def __init__(self) -> None:
        self.time = START
        """What the boot clock reads, which only passes."""
        self.wrong_by = 0
        """How far the wall clock is ahead of it."""

    def boot_clock(self) -> int:
        return self.time

    def wall_clock(self) -> int:
        return self.time + self.wrong_by


FOLD_SECONDS = 300.0
"""Seconds after which a fold has failed, however busy the machine is."""


class Served:
    """A server without its web face: every call is awaited until it is durable."""

    def __init__(self, path: Path, machine: Machine | None = None, **options: Any) -> None:
        self.path = path
        self.log_engine = LOG_ENGINE[0]
        self.machine = machine or Machine()
        self.options = options
        self.crashes = 0
        self.memory: MemoryLog | None = None
        self._patches = ExitStack()
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        for name in ("wall_clock", "boot_clock"):
            read = getattr(self.machine, name)
            self._patches.enter_context(mock.patch.object(clock, f"_{name}", read))
        self._patches.enter_context(mock.patch.object(queries, "REPORT_SECONDS", FOLD_SECONDS))
        if self.log_engine == "memory":
            self.memory = MemoryLog()
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.run(self.engine.close())
        finally:
            self._runner.close()
            self._patches.close()

    def _open(self) -> None:
        location: Path | Log | str = self.path if self.memory is None else self.memory
        options = self.options
        if self.log_engine == "postgres":
            location = database_of(self.path)
        if self.log_engine != "sqlite":
            options = _about_the_engine(options)
        self.engine = self.run(Engine.open(location, **options))

    def run(self, calls: Coroutine[Any, Any, T]) -> T:
        # Not the runner's own `run`, which sets the handler of Ctrl-C each time: twice the work.
        return self._runner.get_loop().run_until_complete(calls)

    def pass_time(self, seconds: float) -> None:
        """Let time pass, counted from the newest record, each of which has a microsecond.

        Where it is as long as a window can be, it ends where windows close.
        """
        assert seconds >= 0, "time only passes: set the wall clock instead"
        passed = round(seconds * SECOND)
        log = self.engine.runtime.log
        head = log.writer.own.stamps.head() if isinstance(log, PostgresLog) else log.head()
        now = max(self.machine.time, moment(head)) + passed
        self.machine.time = now if passed % GRID else -(-now // GRID) * GRID

    def set_wall_clock(self, seconds: float) -> None:
        """Set the wall clock ahead, or back, by so many seconds; no time passes."""
        self.machine.wrong_by += round(seconds * SECOND)

    def save_states(self) -> None:
        """Let the state of every campaign be saved; that takes a tenth of a second."""
        for active in self.engine.runtime.by_number.values():
            active.save_due = True
        self.pass_time(0.1)
        self.run(self.engine.settled())

    def verify(self) -> Verification:
        """Check all that is stored, and rebuild every campaign."""
        with self.engine.runtime.log.reader() as log:
            return self.run(verify_log(log))

    def restart(self) -> None:
        """Close, and open again."""
        self.run(self.engine.close())
        self._open()

    def crash(self) -> None:
        """Go on with the log as it is at this moment, and no word to the engine."""
        self.crashes += 1
        self.run(self.engine.maintenance.write_counts())  # written now and then, as at each tick
        if self.log_engine == "sqlite":
            copy = self.path.with_name(f"crash-{self.crashes}.db")
            for ending in ("", "-wal"):
                source = Path(f"{self.path}{ending}")
                if source.exists():
                    shutil.copyfile(source, f"{copy}{ending}")
            self.path = copy
        self.run(_drop(self.engine))
        self._open()

    def create(self, name: str = "c", **fields: Any) -> protocol.CampaignView:
        given = {"actions": ["a", "b"], "signals": ["click", "buy"], "policy": "ucb"} | fields
        return self.run(
            self.engine.create(msgspec.convert({"name": name} | given, protocol.NewCampaign))
        )

    def patch(self, name: str = "c", **fields: Any) -> protocol.CampaignView:
        return self.run(self.engine.patch(name, msgspec.convert(fields, protocol.CampaignPatch)))

    def add_action(self, action: str, name: str = "c") -> protocol.CampaignView:
        return self.run(self.engine.add_action(name, protocol.NewAction(action)))

    def set_action(self, action: str, status: str, name: str = "c") -> protocol.CampaignView:
        patch = msgspec.convert({"status": status}, protocol.ActionPatch)
        return self.run(self.engine.patch_action(name, action, patch))

    def import_history(
        self, rows: list[dict[str, Any]], history: str = "old", name: str = "c", **more: Any
    ) -> protocol.ImportView:
        """Import a part of a history; the last one, unless it is said otherwise."""
        fields = {"id": history, "rows": rows, "last": True} | more
        part = msgspec.convert(fields, protocol.HistoryPart)
        return self.run(self.engine.import_history(name, part))

    def imported(self, name: str = "c") -> list[protocol.ImportView]:
        """Return the histories of a campaign, after those that are whole came in force."""

        async def wait() -> None:
            await asyncio.gather(*self.engine.imports.under_way.values())

        self.run(wait())
        return self.engine.campaign(name).history

    def decide(self, name: str = "c", **ask: Any) -> protocol.DecisionAnswer:
        return self.run(self.engine.decide(name, protocol.DecisionRequest(**ask)))[0]

    def decide_many(self, count: int, name: str = "c", **ask: Any) -> list[protocol.DecisionAnswer]:
        """Ask for many decisions at once."""

        async def all_of_them() -> list[tuple[protocol.DecisionAnswer, bool]]:
            return await asyncio.gather(
                *(self.engine.decide(name, protocol.DecisionRequest(**ask)) for _ in range(count))
            )

        return [answer for answer, _ in self.run(all_of_them())]

    def signal(self, decision: str, signal: str, event_id: str | None = None, **more: Any) -> str:
        report = protocol.SignalReport(signal, event_id, **more)
        return self.run(self.engine.feedback(decision, report)).status

    def reward(
        self, decision: str, value: float | None, event_id: str | None = None, **more: Any
    ) -> str:
        report = protocol.RewardReport(value, event_id=event_id, **more)
        return self.run(self.engine.feedback(decision, report)).status

    def void(self, decision: str, event_id: str | None = None) -> str:
        return self.run(self.engine.feedback(decision, protocol.VoidReport(event_id))).status

    def batch(self, items: list[dict[str, Any]]) -> list[protocol.Receipt]:
        return self.run(self.engine.batch([msgspec.Raw(msgspec.json.encode(one)) for one in items]))

    def history(self, decision: str) -> protocol.DecisionHistory:
        return self.run(self.engine.history(decision))

    def report(self, name: str = "c") -> protocol.CampaignReport:
        return self.run(self.engine.report(name))

    def records(self, name: str = "c") -> list[protocol.RecordView]:
        return self.run(self.engine.record_page(name, 0, 1_000_000)).events

    def campaign(self, name: str = "c") -> Campaign:
        """Return a campaign with every window closed that is due."""
        head = self.engine.runtime.log.now()
        assert self.run(self.engine.fold.reached(head, FOLD_SECONDS))
        return self.engine.runtime.by_name[name].campaign

    def state(self, name: str = "c") -> Any:
        return self.campaign(name).state

    def fingerprint(self, name: str = "c") -> bytes:
        return fingerprint(self.state(name))

    def digest(self, name: str = "c") -> str:
        return self.campaign(name).digest()

    def rebuilt(self, name: str = "c") -> Campaign:
        """Return the campaign rebuilt from the log alone, at this moment."""
        position = self.campaign(name).position
        runtime = self.engine.runtime
        return self.run(rebuild(runtime.log, runtime.by_name[name].number, position))


def _about_the_engine(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that do not say how a database is opened."""
    return {name: value for name, value in options.items() if name not in ("durability", "vfs")}


async def _drop(engine: Engine) -> None:
    """Let an engine end without a word to its log."""
    for task in engine.tasks:
        task.cancel()
    await asyncio.gather(*engine.tasks, return_exceptions=True)
    await engine.imports.stop()
    await engine._stop_folding()
    log = engine.runtime.log
    if isinstance(log, PostgresLog):
        await log.abandon()
        await seal_all(log)
    elif not isinstance(log, MemoryLog):
        await log.close()


async def seal_all(log: PostgresLog) -> None:
    """Seal all streams, as if the lease had passed."""
    connection = await asyncpg.connect(log.dsn)
    try:
        for stream in await read_open_streams(connection):
            await seal(connection, stream)
    finally:
        await connection.close()
