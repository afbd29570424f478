"""A standby takes the place of the primary: what it has goes on, what it has not is known."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import Engine, queries
from foretell.service.engine.replay import rebuild
from foretell.service.engine.verify import verify_log
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.connection import connect, prepare
from foretell.service.log.postgres.settings import write_settings
from foretell.service.model.decision_id import read_decision_id
from tests.service.log.postgres_server import QUICK, PostgresServer
from tests.service.test_shared_fold import CAMPAIGN, until

pytestmark = pytest.mark.slow


class Pair:
    """A primary and its standby, behind one address."""

    def __init__(self, folder: Path) -> None:
        self.primary = PostgresServer(folder / "a")
        self.standby = PostgresServer(folder / "b")
        hosts = f"{self.primary.folder},{self.standby.folder}"
        self.dsn = f"postgresql:///postgres?host={hosts}&port=5432,5432&user=postgres"

    def start(self) -> None:
        """Start both."""
        self.primary.make()
        self.primary.start()
        asyncio.run(_make_log(self.primary.dsn()))
        self.standby.make_standby(self.primary)
        self.standby.start()

    def stop(self) -> None:
        """Stop what runs."""
        for server in (self.primary, self.standby):
            server.stop(signal.SIGQUIT)


@pytest.fixture(autouse=True)
def patient_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports wait for the fold, however busy the machine is."""
    monkeypatch.setattr(queries, "REPORT_SECONDS", 300.0)


@pytest.fixture
def pair() -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(prefix="pg-") as folder, ExitStack() as stack:
        Path(folder).chmod(0o755)
        servers = Pair(Path(folder))
        stack.callback(servers.stop)
        servers.start()
        yield servers


async def _make_log(dsn: str) -> None:
    connection = await connect(dsn)
    await prepare(connection, dsn)
    await write_settings(connection, **QUICK | {"lease_seconds": 10.0, "lag_seconds": 1.0})
    await connection.close()


async def run_sql(server: PostgresServer, *statements: str) -> Any:
    connection = await asyncpg.connect(server.dsn())
    try:
        return [await connection.fetchval(one) for one in statements]
    finally:
        await connection.close()


@asynccontextmanager
async def engines(dsn: str) -> AsyncIterator[list[Engine]]:
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(2):
            found.append(await Engine.open(dsn, compiled=False))
            stack.push_async_callback(found[-1].close)
        await found[0].create(msgspec.convert(CAMPAIGN, protocol.NewCampaign))
        yield found


async def again(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Ask until the log is open."""
    async with asyncio.timeout(300):
        while True:
            with suppress(LogClosed):
                return await ask()
            await asyncio.sleep(0.02)


async def decide(engine: Engine, key: str) -> str:
    asked = protocol.DecisionRequest(decision_key=key)
    answer, _ = await again(lambda: engine.decide("c", asked))
    return str(answer.decision_id)


async def check_states(found: list[Engine], decisions: int) -> None:
    """Every engine reports so many decisions, from a state that the log leads to."""
    for engine in found:
        async with asyncio.timeout(300):
            report = await again(lambda one=engine: one.report("c"))  # type: ignore[misc]
            while report.counts.decisions != decisions:
                await asyncio.sleep(0.05)
                report = await again(lambda one=engine: one.report("c"))  # type: ignore[misc]
        built = await rebuild(engine.runtime.log, 1, int(report.log.position))
        assert report.log.state_hash == built.digest()
        assert engine.maintenance.damage == []
    with found[0].runtime.log.reader() as log:
        assert (await verify_log(log)).damage == []


def test_what_was_acknowledged_survives_the_primary_with_a_synchronous_standby(pair: Pair) -> None:
    async def law() -> None:
        await run_sql(
            pair.primary,
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "SELECT pg_reload_conf()",
        )
        async with engines(pair.dsn) as found:
            await until(lambda: "survives the loss" in found[0].health().durability)
            stopping = asyncio.Event()
            acknowledged: dict[str, str] = {}

            async def load(engine: Engine, name: str) -> None:
                while not stopping.is_set():
                    key = f"{name}-{len(acknowledged)}"
                    acknowledged[key] = await decide(engine, key)

            loads = [asyncio.create_task(load(one, f"{n}")) for n, one in enumerate(found)]
            await until(lambda: len(acknowledged) > 30)
            await asyncio.to_thread(pair.primary.stop, signal.SIGQUIT)
            await run_sql(pair.standby, "SELECT pg_promote()")
            before = len(acknowledged)
            await until(lambda: len(acknowledged) > before + 30)
            stopping.set()
            await asyncio.gather(*loads)
            for key, decision in acknowledged.items():
                assert await decide(found[0], key) == decision
            await check_states(found, len(acknowledged))
            await until(lambda: "the primary alone" in found[0].health().durability)

    asyncio.run(law())


def test_records_that_a_standby_has_not_are_forgotten_by_all(pair: Pair) -> None:
    """So is a pause that is lost; what is about a lost decision is parked, and counted as that."""

    async def law() -> None:
        async with engines(pair.dsn) as found:
            kept = [await decide(found[n % 2], f"kept-{n}") for n in range(10)]
            count = "SELECT count(*) FROM foretell.events WHERE decision IS NULL"
            while await run_sql(pair.standby, count) != [10]:  # noqa: ASYNC110  (nothing tells of it)
                await asyncio.sleep(0.02)
            await asyncio.to_thread(pair.standby.stop)
            lost = [await decide(found[n % 2], f"lost-{n}") for n in range(7)]
            await found[0].set_status("c", "paused")
            for engine in found:
                assert (await engine.report("c")).counts.decisions == 17
            await asyncio.to_thread(pair.primary.stop, signal.SIGQUIT)
            await asyncio.to_thread(pair.standby.start)
            await run_sql(pair.standby, "SELECT pg_promote()")
            await check_states(found, 10)
            for engine in found:
                assert engine.campaign("c").status == "running"
            report = protocol.RewardReport(1.0, event_id="about-lost")
            receipt = await again(lambda: found[1].feedback(lost[0], report))
            assert receipt.status == "parked"
            assert (await found[0].report("c")).counts.parked == 1
            numbers = [_number(found[0], one) for one in [*kept, *lost]]
            assert len(set(numbers)) == 17
            await decide(found[0], "lost-0")
            await check_states(found, 11)

    asyncio.run(law())


def _number(engine: Engine, decision: str) -> int:
    token = read_decision_id(decision, engine.runtime.secrets)
    assert token is not None
    return token.number
