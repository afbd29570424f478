"""Copies, readers in other threads, and gauges."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from foretell.errors import DamagedFile, InvalidInput
from foretell.service.log.errors import LogClosed
from foretell.service.log.protocol import Draft, Duplicate, Log, Tail
from foretell.service.model.events import KeyRevoked, Record
from tests.service.log.engines import (
    ADMIN,
    Engine,
    accepted,
    decide,
    decided,
    feedback,
    head_above,
    read_all,
    run,
)


def test_a_copy_holds_everything_and_can_take_the_place_of_a_log(
    engine: Engine, tmp_path: Path
) -> None:
    copy = str(tmp_path / "copy")

    async def law(log: Log) -> None:
        await accepted(log, ADMIN, Draft(1, decided(), unit=b"u", unit_action=0, context=b"c"))
        (number,) = [one.number for one in await log.decisions_after(1, 0, 10)]
        await accepted(log, feedback(1, number, "a"))
        before = await read_all(log)
        await log.backup(copy)
        with pytest.raises(InvalidInput, match="exists already"):
            await log.backup(copy)
        await accepted(log, feedback(1, number, "b"))
        tail = log.tail(0)
        await anext(tail)
        head = log.head()
        await log.restore(copy)
        with pytest.raises(LogClosed, match="replaced"):
            await read_to_its_end(tail)
        assert await read_all(log) == before
        assert await log.context(number) == b"c"
        assert isinstance((await log.append([feedback(1, number, "a")]))[0], Duplicate)
        (record,) = await accepted(log, feedback(1, number, "b"))
        assert record.seq >= head
        assert [one.rank for one in await log.decisions(1, [await decide(log)])] == [1]
        assert log.check() == (5, 0, [])

    run(engine, law)


async def read_to_its_end(tail: AsyncIterator[Tail]) -> None:
    async for _ in tail:
        pass


def test_a_copy_that_nobody_could_use_is_refused(engine: Engine, tmp_path: Path) -> None:
    async def law(log: Log) -> None:
        await accepted(log, ADMIN, Draft(0, KeyRevoked("k")))
        await log.backup(str(tmp_path / "copy"))
        await accepted(log, ADMIN)
        with pytest.raises(DamagedFile, match="its 2 records hold no admin key"):
            await log.restore(str(tmp_path / "copy"))
        assert await log.count_records() == 3

    run(engine, law)


def test_a_reader_in_another_thread_sees_what_is_durable(engine: Engine) -> None:
    async def law(log: Log) -> None:
        number = await decide(log)

        def read() -> tuple[list[Record], int]:
            with log.reader() as reader:
                found = asyncio.run(reader.records(0, 1 << 62, 10))
                return found, reader.head()

        records, head = await asyncio.to_thread(read)
        assert [record.seq for record in records] == [number]
        assert number < head <= await head_above(log, head - 1)

    run(engine, law)


def test_a_log_that_grows_takes_more_room(engine: Engine) -> None:
    async def law(log: Log) -> None:
        await decide(log)
        before = await log.stored_bytes()
        assert before > 0
        await log.append([Draft(1, decided()) for _ in range(2000)])
        assert await log.stored_bytes() > before + 40_000

    run(engine, law)


def test_the_gauges_count_commits(engine: Engine) -> None:
    async def law(log: Log) -> None:
        await decide(log)
        gauges = log.gauges()
        assert (gauges.queued, gauges.clock_ahead_seconds) == (0, 0.0)
        assert gauges.commits >= 1
        assert gauges.tail_lag_seconds >= 0
        assert log.closed is None
        assert log.time_scale == 1.0

    run(engine, law)
