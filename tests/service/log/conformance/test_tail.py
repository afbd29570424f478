"""Complete: the tail brings every record in order, and says up to where it is complete."""

from __future__ import annotations

import asyncio

from foretell.service.log.protocol import Draft, Log
from foretell.service.model.events import KeyRevoked, Record, moment
from tests.service.log.engines import (
    ADMIN,
    Engine,
    accepted,
    decided,
    read_all,
    run,
    tail_until,
)


def test_the_tail_brings_every_record_once_and_in_order(engine: Engine) -> None:
    """Also while many append; and nothing comes below what it says is complete."""

    async def law(log: Log) -> None:
        await accepted(log, *[ADMIN] * 30)
        total = 30 + 8 * 25 * 2

        async def work(worker: int) -> None:
            for n in range(25):
                await log.append([Draft(worker, decided(n)), Draft(worker, KeyRevoked("a"))])
                if n % 5 == 0:
                    log.now()

        def enough(records: list[Record], upto: int) -> bool:
            return len(records) >= total

        follow = asyncio.gather(*(tail_until(log, 0, enough) for _ in range(2)))
        await asyncio.gather(*(work(worker) for worker in range(1, 9)))
        for items in await follow:
            records = [record for item in items for record in item.records]
            assert records == await read_all(log)
            complete = 0
            for item in items:
                assert all(complete <= record.seq < item.upto for record in item.records)
                assert item.upto >= complete
                complete = item.upto

    run(engine, law)


def test_the_tail_begins_after_a_seq(engine: Engine) -> None:
    async def law(log: Log) -> None:
        written = await accepted(log, *[ADMIN] * 200)
        for index in (0, 63, 64, 150, 199):
            expected = written[index + 1 :]
            items = await tail_until(
                log, written[index].seq, lambda _, upto: upto > written[-1].seq
            )
            assert [record for item in items for record in item.records] == expected

    run(engine, law)


def test_the_tail_reaches_now_at_once_and_no_record_comes_below(engine: Engine) -> None:
    async def law(log: Log) -> None:
        for _ in range(20):
            known = await accepted(log, ADMIN)
            now = log.now()
            assert now > known[-1].seq
            began = asyncio.get_running_loop().time()
            await tail_until(log, known[-1].seq, lambda _, upto, now=now: upto >= now)  # type: ignore[misc]
            assert asyncio.get_running_loop().time() - began < 20
            (record,) = await accepted(log, ADMIN)
            assert record.seq >= now
            assert log.now() > record.seq

    run(engine, law)


def test_time_goes_on_in_the_tail_while_nothing_comes(engine: Engine) -> None:
    async def law(log: Log) -> None:
        start = log.now()
        items = await tail_until(log, 0, lambda _, upto: moment(upto) >= moment(start) + 200_000)
        assert len(items) >= 3

    run(engine, law)
