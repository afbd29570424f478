"""Several processes write one log: each as a log of its own here, on one real server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.postgres.streams import read_open_streams, seal
from foretell.service.log.protocol import Accepted, Draft, Duplicate, Taken
from foretell.service.model.events import SLOTS, Record
from tests.service.log.engines import (
    accepted,
    decide,
    decided,
    feedback,
    open_again,
    read_all,
    tail_until,
)
from tests.service.log.postgres.cutting_proxy import Cut, CuttingProxy


@asynccontextmanager
async def opened(*dsns: str) -> AsyncIterator[list[PostgresLog]]:
    """Open logs for a while."""
    async with AsyncExitStack() as stack:
        logs = []
        for dsn in dsns:
            log = await PostgresLog.open(dsn)
            stack.push_async_callback(log.close)
            logs.append(log)
        yield logs


async def write_many(log: PostgresLog, campaign: int, count: int) -> None:
    for n in range(count):
        await accepted(log, Draft(campaign, decided(n)), Draft(campaign, decided(n)))
        if n % 7 == 0:
            await asyncio.sleep(0.001)


def test_all_that_follow_read_the_same_records_in_the_same_order(dsn: str) -> None:
    """Also those of a stream that is opened while others write."""

    async def law() -> None:
        async with opened(dsn, dsn) as logs, AsyncExitStack() as stack:

            def enough(records: list[Record], _: int) -> bool:
                return len(records) >= 3 * 2 * 60

            follow = asyncio.gather(*(tail_until(log, 0, enough) for log in logs))
            writing = [asyncio.create_task(write_many(log, n, 60)) for n, log in enumerate(logs, 1)]
            await asyncio.sleep(0.03)
            third = await PostgresLog.open(dsn)
            stack.push_async_callback(third.close)
            await asyncio.gather(*writing, write_many(third, 3, 60))
            followed = await follow
            records = [[one for item in items for one in item.records] for items in followed]
            assert records[0] == records[1] == await read_all(third)
            assert [one.seq for one in records[0]] == sorted({one.seq for one in records[0]})
            for items in followed:
                complete = 0
                for item in items:
                    assert all(complete <= one.seq < item.upto for one in item.records)
                    complete = item.upto
            assert third.check() == (360, 0, [])
            assert len({one.seq % 2048 for one in records[0]}) == 3

    asyncio.run(law())


def test_what_two_processes_claim_one_of_them_gets_and_both_answer_alike(dsn: str) -> None:
    async def law() -> None:
        async with opened(dsn, dsn) as logs:
            for n in range(40):
                drafts = [feedback(1, 5 << 20, f"e{n}-{m}") for m in range(3)]
                one, other = await asyncio.gather(
                    logs[0].append(drafts), logs[1].append(drafts[::-1])
                )
                for mine, theirs in zip(one, other[::-1], strict=True):
                    winner, loser = sorted((mine, theirs), key=lambda found: type(found).__name__)
                    assert isinstance(winner, Accepted)
                    assert loser == Duplicate(winner.record)
            assert len(await read_all(logs[0])) == 120
            assert logs[0].check().damage == []

    asyncio.run(law())


def test_a_seq_that_is_given_twice_is_an_error_and_no_claim_that_was_made_before(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def law() -> None:
        log = await PostgresLog.open(dsn)
        try:
            (record,) = await accepted(log, feedback(1, 5 << 20, "e1"))
            again = range(record.seq, record.seq + 1)
            monkeypatch.setattr(log.writer.own.stamps, "begin", lambda _: again)
            async with asyncio.timeout(20):
                with pytest.raises(LogClosed, match="the database cannot be used now"):
                    await log.append([feedback(1, 5 << 20, "e2")])
            assert re.search(r"is closed: .* violates unique constraint .*events", caplog.text)
            monkeypatch.undo()
            await open_again(log)
            await accepted(log, feedback(1, 5 << 20, "e2"))
            assert log.check() == (2, 0, [])
        finally:
            await log.abandon()  # one that took it for a claim would send it again and again

    asyncio.run(law())


def test_the_nth_action_of_a_unit_is_given_by_one_process(dsn: str) -> None:
    async def law() -> None:
        async with opened(dsn, dsn) as logs:
            for n in range(20):
                drafts = [
                    Draft(1, decided(action=action), unit=b"u", unit_action=n) for action in (0, 1)
                ]
                found = await asyncio.gather(
                    *(log.append([draft]) for log, draft in zip(logs, drafts, strict=True))
                )
                (winner,) = (one for (one,) in found if isinstance(one, Accepted))
                (loser,) = (one for (one,) in found if isinstance(one, Taken))
                assert loser.earlier.decision == winner.record.seq
            assert len(await logs[1].unit_actions(1, b"u")) == 20

    asyncio.run(law())


def test_a_stream_that_has_stopped_is_sealed_and_time_goes_on(dsn: str) -> None:
    async def law() -> None:
        async with opened(dsn) as (log,):
            stopped = await PostgresLog.open(dsn)
            await decide(stopped)
            await stopped.abandon()
            number = await decide(log)
            began = asyncio.get_running_loop().time()
            await tail_until(log, 0, lambda _, upto: upto > number)
            assert 1.0 < asyncio.get_running_loop().time() - began < 20
            assert log.watch.sealings == 1
            assert len(await read_all(log)) == 2

    asyncio.run(law())


def test_who_was_sealed_writes_nothing_until_it_has_read_what_the_others_wrote(dsn: str) -> None:
    async def law() -> None:
        async with opened(dsn, dsn) as (log, slow):
            seen: list[int] = []

            async def follow() -> None:
                async for item in slow.tail(0):
                    seen.extend(record.seq for record in item.records)

            following = asyncio.create_task(follow())
            await decide(slow)
            before = slow.writer.own.row.stream
            connection = await asyncpg.connect(dsn)
            sealed = False
            while not sealed:
                streams = await read_open_streams(connection)
                sealed = await seal(connection, next(one for one in streams if one[0][0] == before))
            await connection.close()
            written = await decide(log)
            with pytest.raises(LogClosed):
                await decide(slow)
            await open_again(slow)
            assert written in seen
            assert slow.writer.own.row.stream > before
            await decide(slow)
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            assert slow.check().damage == []

    asyncio.run(law())


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_record_whose_answer_was_lost_is_there_once(
    dsn: str, when: Cut, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def law() -> None:
        folder = tmp_path_factory.mktemp("p")
        async with CuttingProxy(dsn, folder) as proxy, opened(proxy.dsn, dsn) as (log, other):
            for n in range(10):
                proxy.cut(when, b"lost-%d-" % n)
                (record,) = await accepted(log, feedback(1, 5 << 20, f"lost-{n}-"))
                assert proxy.cuts == n + 1
                assert (await other.by_key(1, [b"e:lost-%d-" % n]))[b"e:lost-%d-" % n] == record
            assert len(await read_all(other)) == 10
            assert other.check().damage == []
            assert log.writer.own.retries >= 10

    asyncio.run(law())


def test_while_the_server_is_away_nothing_is_taken_in_and_then_all_goes_on(
    dsn: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def law() -> None:
        folder = tmp_path_factory.mktemp("p")
        async with CuttingProxy(dsn, folder) as proxy, opened(proxy.dsn) as (log,):
            number = await decide(log)
            proxy.refuse(refusing=True)
            with pytest.raises(LogClosed):
                await decide(log)
            assert log.closed is not None
            with pytest.raises(LogClosed):
                await log.decisions(1, [number])
            proxy.refuse(refusing=False)
            await open_again(log)
            await decide(log)
            items = await tail_until(log, 0, lambda records, _: len(records) == 2)
            assert items
            assert (await asyncio.to_thread(log.check)).damage == []

    asyncio.run(law())


def test_feedback_is_stamped_after_its_decision(dsn: str) -> None:
    """Also where the clock of the process that takes it in is behind."""

    async def law() -> None:
        async with opened(dsn, dsn) as (log, behind):
            behind.writer.own.stamps.clock.skew -= 300_000
            for n in range(5):
                number = await decide(log)
                (record,) = await accepted(behind, feedback(1, number, f"e{n}"))
                assert record.seq > number

    asyncio.run(law())


async def stopped_after(awaiting: Awaitable[object], seconds: float) -> bool:
    """Return whether something has not ended after a while."""
    task = asyncio.ensure_future(awaiting)
    done, _ = await asyncio.wait([task], timeout=seconds)
    task.cancel()
    return not done


def test_a_change_is_seen_by_all_when_each_has_folded_it_or_was_sealed(dsn: str) -> None:
    async def law() -> None:
        async with opened(dsn, dsn) as (log, other):
            number = await decide(log)
            assert await stopped_after(log.seen_by_all(number + 1), 0.2)
            other.note_seen(number + 1)
            await asyncio.wait_for(log.seen_by_all(number + 1), 20)
            later = await decide(log)
            waiting = asyncio.create_task(log.seen_by_all(later + 1))
            await other.abandon()
            await asyncio.wait_for(waiting, 10)

    asyncio.run(law())


def test_an_open_transaction_of_another_program_stops_nothing(dsn: str) -> None:
    async def law() -> None:
        connection = await asyncpg.connect(dsn)
        await connection.execute("CREATE TABLE another (n integer); BEGIN")
        await connection.execute("INSERT INTO another VALUES (1)")
        async with opened(dsn) as (log,):
            number = await decide(log)
            await tail_until(log, 0, lambda _, upto: upto > number, seconds=5)
        await connection.close()

    asyncio.run(law())


def test_the_folder_of_the_proxy_is_short(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = tmp_path_factory.mktemp("p")
    assert len(str(folder)) < 90, "a socket cannot have a longer name"


def test_what_is_erased_while_the_clock_lags_leaves_its_sum(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head that is too far ahead is not moved: then nothing of the unit may be deleted."""

    async def law() -> None:
        async with opened(dsn) as (log,):
            await accepted(log, Draft(1, decided(0), unit=b"unit", unit_action=0))
            stamps, now = log.writer.own.stamps, log.writer.own.stamps.now
            heads = iter([now() + 30_000_000 * SLOTS])
            monkeypatch.setattr(stamps, "now", lambda: next(heads, None) or now())
            assert await log.erase(1, b"unit") == 1
            assert next(heads, None) is None, "it was too early once"
            assert log.check().damage == []

    asyncio.run(law())
