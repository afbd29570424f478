"""One decider folds a campaign, the others take over its state: engines on one PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest

from foretell import protocol
from foretell.service.engine import Engine, fold, queries, refit, replay
from foretell.service.engine import engine as opening
from foretell.service.engine.fold import Fold
from foretell.service.engine.recovery import load_campaigns
from foretell.service.engine.replay import rebuild
from foretell.service.engine.verify import verify_log
from foretell.service.log.postgres.fold_sharing import PostgresFoldSharing
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.protocol import SavedState
from foretell.service.model.active_campaign import ActiveCampaign
from foretell.service.model.counters import COUNTS
from foretell.service.model.events import Record
from tests.service.log.postgres_server import QUICK, drop_database, made_database

TIMING = QUICK | {"lease_seconds": 60.0, "lag_seconds": 1.0}
CAMPAIGN = {
    "name": "c",
    "actions": ["a", "b", "c"],
    "signals": ["click", "buy"],
    "policy": "ucb",
    "signal_silence": "unknown",
    "reward_silence": "unknown",
}


@pytest.fixture(autouse=True)
def patient_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reports wait for the fold, however busy the machine is."""
    monkeypatch.setattr(queries, "REPORT_SECONDS", 300.0)


@pytest.fixture
def dsn() -> Iterator[str]:
    dsn = made_database(**TIMING)
    yield dsn
    drop_database(dsn)


@asynccontextmanager
async def engines(dsn: str, count: int) -> AsyncIterator[list[Engine]]:
    """Open engines on one log; the first of them is the one that folds the campaign `c`."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(count):
            engine = await Engine.open(await PostgresLog.open(dsn), compiled=False)
            stack.push_async_callback(engine.close)
            found.append(engine)
        await found[0].create(msgspec.convert(CAMPAIGN, protocol.NewCampaign))
        await until(lambda: sum(active_of(one).folding for one in found) == 1)
        yield sorted(found, key=lambda one: not active_of(one).folding)


async def until(holds: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.005)


def active_of(engine: Engine) -> ActiveCampaign:
    return engine.runtime.by_name["c"]


def rewards_of(engine: Engine) -> int:
    return active_of(engine).campaign.counters.counts[COUNTS.index("rewards")]


def test_whoever_starts_while_another_makes_the_first_key_knows_it(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "ftk_the-first-key-of-two-servers"

    async def law() -> None:
        async with AsyncExitStack() as stack:

            async def overtaken(*parts: Any) -> None:
                """Load, and let another server start before the first key is looked for."""
                await load_campaigns(*parts)
                monkeypatch.setattr(opening, "load_campaigns", load_campaigns)
                other = await Engine.open(dsn, admin_key=key, compiled=False)
                stack.push_async_callback(other.close)

            monkeypatch.setattr(opening, "load_campaigns", overtaken)
            late = await Engine.open(dsn, admin_key=key, compiled=False)
            stack.push_async_callback(late.close)
            assert late.identify(key) is not None

    asyncio.run(law())


def test_no_two_deciders_take_the_same_round(dsn: str) -> None:
    async def law() -> None:
        async with engines(dsn, 3) as found:
            overlays = [active_of(one).overlay for one in found]
            await until(lambda: {one.seats for one in overlays} == {3})
            rounds = {one.t for one in overlays}
            assert rounds == {0, 1, 2}
            for nonce, overlay in enumerate(overlays):
                overlay.add(nonce, 0)
            assert {one.t for one in overlays} == {3, 4, 5}
            for nonce, overlay in enumerate(overlays):
                overlay.drop(nonce)

    asyncio.run(law())


def sharing_of(engine: Engine) -> PostgresFoldSharing:
    log = engine.runtime.log
    assert isinstance(log, PostgresLog)
    return log.sharing


async def decide(engine: Engine, count: int = 1, **ask: Any) -> list[str]:
    answers = [await engine.decide("c", protocol.DecisionRequest(**ask)) for _ in range(count)]
    return [answer.decision_id for answer, _ in answers]


async def reward(engine: Engine, decisions: list[str]) -> None:
    for decision in decisions:
        await engine.feedback(decision, protocol.SignalReport("click"))
        await engine.feedback(decision, protocol.RewardReport(1.0))


def run(law: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(law())


class Folding:
    """Counts the records that each engine folds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: dict[int, int] = {}
        fold_all = Fold._fold_all

        async def counted(fold: Fold, active: ActiveCampaign, records: list[Record]) -> None:
            self.counts[id(fold)] = self.counts.get(id(fold), 0) + len(records)
            await fold_all(fold, active, records)

        monkeypatch.setattr(Fold, "_fold_all", counted)

    def of(self, engine: Engine) -> int:
        return self.counts.get(id(engine.fold), 0)


def test_one_folds_and_the_others_take_over_its_state(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def law() -> None:
        async with engines(dsn, 3) as (first, *others):
            folding = Folding(monkeypatch)
            for engine in (first, *others):
                await reward(others[0], await decide(engine, 20))
            await until(lambda: all(rewards_of(one) == 60 for one in others))
            assert folding.of(first) == 3 * 20 * 3
            assert [folding.of(one) for one in others] == [0, 0]
            for engine in (first, *others):
                await engine.settled()
                active = active_of(engine)
                built = await rebuild(engine.runtime.log, 1, active.campaign.position)
                assert active.campaign.digest() == built.digest()

    run(law)


def test_a_report_knows_all_that_was_answered_before_wherever_it_is_asked_for(dsn: str) -> None:
    async def law() -> None:
        async with engines(dsn, 3) as (first, second, third):
            for n in range(1, 6):
                (decision,) = await decide(second)
                await reward(first, [decision])
                for engine in (third, first, second):
                    report = await engine.report("c")
                    assert report.counts.decisions == n
                    assert report.counts.rewards == n
                    built = await rebuild(engine.runtime.log, 1, int(report.log.position))
                    assert report.log.state_hash == built.digest()
                assert (await third.history(decision)).reward == 1.0

    run(law)


def test_own_decisions_are_played_on_a_state_that_was_taken_over(dsn: str) -> None:
    """Each once, until the state holds them, whatever is taken over meanwhile."""

    async def law() -> None:
        async with engines(dsn, 2) as (_, other):
            active = active_of(other)
            for n in range(1, 60):
                await decide(other)
                assert active.campaign.decided + len(active.overlay.under_way()) == n
            await until(lambda: active.campaign.decided == 59)
            assert active.overlay._under_way == active.overlay._written == {}

    run(law)


def test_a_change_is_in_force_on_those_that_do_not_fold(dsn: str) -> None:
    async def law() -> None:
        async with engines(dsn, 3) as (first, second, third):
            changes: list[tuple[Engine, protocol.CampaignStatus]] = [
                *((second, "paused"), (third, "running"), (first, "paused"))
            ]
            for changing, status in changes:
                await changing.set_status("c", status)
                for engine in (first, second, third):
                    assert engine.campaign("c").status == status
            await third.set_status("c", "running")
            await second.add_action("c", protocol.NewAction("d"))
            for engine in (first, second, third):
                await decide(engine, eligible=["d"])

    run(law)


@pytest.mark.parametrize("asked", [0, 1])
def test_a_refit_is_made_once_and_taken_over_by_the_others(
    dsn: str, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    from_log = replay.refit_from_log

    async def counted(*values: Any, **named: Any) -> Any:
        made.append(values)
        return await from_log(*values, **named)

    monkeypatch.setattr(fold, "refit_from_log", counted)
    monkeypatch.setattr(refit, "refit_from_log", counted)

    async def law() -> None:
        async with engines(dsn, 3) as found:
            await reward(found[2], await decide(found[1], 10))
            await found[asked].patch("c", protocol.CampaignPatch(policy="sw-ucb(window=50)"))
            for engine in found:
                assert engine.campaign("c").policy == "sw-ucb(window=50)"
                await decide(engine)
            for engine in found:
                report = await engine.report("c")
                assert report.counts.decisions == 13
                built = await rebuild(engine.runtime.log, 1, int(report.log.position))
                assert report.log.state_hash == built.digest()
            assert len(made) == 1

    run(law)


def test_a_refit_that_nobody_publishes_is_made_by_all(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def law() -> None:
        async with engines(dsn, 2) as found:
            await reward(found[0], await decide(found[1], 5))

            async def lost(*_: Any) -> float:
                return 0.0

            monkeypatch.setattr(PostgresFoldSharing, "publish", lost)
            await found[1].refit("c")
            for engine in found:
                assert engine.campaign("c").version == 2
                assert (await engine.report("c")).counts.decisions == 5

    run(law)


def hanging(engine: Engine) -> None:
    """Let an engine go on to serve, and fold nothing any more."""

    async def hang(*_: Any) -> None:
        await asyncio.Event().wait()

    engine.fold._take = hang  # type: ignore[method-assign, assignment]


def test_a_folder_that_is_alive_and_stuck_is_overtaken(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def law() -> None:
        async with engines(dsn, 3) as (stuck, *others):
            hanging(stuck)
            await asyncio.sleep(0.1)
            await decide(stuck, 3)
            await decide(others[0], 3)
            await until(lambda: all(active_of(one).campaign.decided == 6 for one in others))
            assert sum(active_of(one).folding for one in others) == 1
            assert sum(sharing_of(one).takeovers for one in others) == 1
            for engine in others:
                assert (await engine.report("c")).counts.decisions == 6

    run(law)


def test_a_campaign_without_new_records_is_overtaken_by_nobody(dsn: str) -> None:
    async def law() -> None:
        async with engines(dsn, 2) as (stuck, other):
            await decide(other)
            await until(lambda: active_of(other).campaign.decided == 1)
            hanging(stuck)
            await asyncio.sleep(2.5)
            assert sharing_of(other).takeovers == 0

    run(law)


def test_who_folds_goes_on_where_another_has_ended(dsn: str) -> None:
    async def law() -> None:
        async with engines(dsn, 3) as (first, *others):
            await decide(others[0], 5)
            await first.close()
            await decide(others[1], 5)
            await until(lambda: all(active_of(one).campaign.decided == 10 for one in others))
            assert sum(active_of(one).folding for one in others) == 1
            with others[0].runtime.log.reader() as reader:
                assert (await verify_log(reader)).damage == []
            first.close = _nothing  # type: ignore[method-assign]

    run(law)


async def _nothing() -> None:
    """Close nothing twice."""


def test_two_that_fold_publish_the_same_bytes_and_others_are_an_alarm(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresFoldSharing, "folds", lambda *_: True)
    published: dict[tuple[int, int], set[bytes]] = {}
    publish = PostgresFoldSharing.publish

    async def noted(self: PostgresFoldSharing, campaign: int, state: Any) -> float:
        published.setdefault((campaign, state.position), set()).add(state.body)
        seconds: float = await publish(self, campaign, state)
        return seconds

    monkeypatch.setattr(PostgresFoldSharing, "publish", noted)

    async def law() -> None:
        async with AsyncExitStack() as stack:
            found = []
            for _ in range(2):
                found.append(await Engine.open(await PostgresLog.open(dsn), compiled=False))
                stack.push_async_callback(found[-1].close)
            await found[0].create(msgspec.convert(CAMPAIGN, protocol.NewCampaign))
            for _ in range(20):
                await reward(found[0], await decide(found[1]))
            while len(published) <= 3:
                await reward(found[0], await decide(found[1]))
            await asyncio.sleep(0.3)
            assert {len(bodies) for bodies in published.values()} == {1}
            assert [engine.maintenance.damage for engine in found] == [[], []]
            active_of(found[0]).campaign.counters.count("late")
            alarms: list[str] = []
            while not alarms:
                await decide(found[0])
                await asyncio.sleep(0.02)
                alarms = [one for engine in found for one in engine.maintenance.damage]
            assert "two servers have come to different states" in alarms[0]
            assert max(engine.gauges()["damage"] for engine in found) == 1

    run(law)


def test_large_states_are_published_less_often(dsn: str) -> None:
    async def law() -> None:
        async with engines(dsn, 2) as (first, _):
            sharing, version = sharing_of(first), "7/none/1"
            small = await sharing.publish(9, SavedState(1, version, b"x" * 1000))
            large = await sharing.publish(9, SavedState(2, version, b"x" * 3_000_000))
            assert (small, large) == (TIMING["beat_seconds"], 3.0)

    run(law)
