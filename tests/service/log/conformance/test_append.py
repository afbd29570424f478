"""Append: what was written is read as it was written, in order."""

from __future__ import annotations

import asyncio

from foretell.service.log.memory import MemoryLog
from foretell.service.log.protocol import Draft, Log
from foretell.service.model.events import Record
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


def test_what_was_appended_is_read_as_it_was_written(engine: Engine) -> None:
    async def law(log: Log) -> list[Record]:
        number = await decide(log, nonce=7)
        written = await accepted(log, feedback(1, number, "a"), ADMIN, feedback(2, number, "a"))
        assert [one.decision for one in written] == [number, 0, number]
        assert await read_all(log) == [Record(number, 1, number, decided(7)), *written]
        assert await read_all(log, 1) == [Record(number, 1, number, decided(7)), written[0]]
        assert await log.count_records() == 4
        assert await log.count_feedback(1, written[0].seq + 1) == 1
        assert await log.count_feedback(1, written[0].seq) == 0
        after = written[-1].seq + 1
        assert [await log.count_about(number, after, most) for most in (0, 1, 9)] == [0, 1, 2]
        assert await log.count_about(number, written[-1].seq, 9) == 1
        (lost,) = await accepted(log, feedback(1, number - 1, "about one that is not there"))
        assert await log.count_about(number - 1, lost.seq + 1, 9) == 1
        return await read_all(log)

    before = run(engine, law)
    assert run(engine, read_all) == before


def test_an_append_of_nothing_writes_nothing(engine: Engine) -> None:
    async def law(log: Log) -> None:
        assert await log.append([]) == []
        assert await read_all(log) == []

    run(engine, law)


def test_seqs_increase_within_an_append_and_across_restarts(engine: Engine) -> None:
    async def law(log: Log) -> None:
        await accepted(log, *[ADMIN] * 50)
        seqs = [record.seq for record in await read_all(log)]
        assert seqs == sorted(set(seqs))
        assert await head_above(log, seqs[-1])

    for _ in range(3):
        run(engine, law)


def test_records_are_read_between_two_seqs_both_excluded(engine: Engine) -> None:
    async def law(log: Log) -> None:
        written = await accepted(log, *[ADMIN] * 300)
        seqs = [record.seq for record in written]
        for first, last in ((0, 299), (10, 20), (63, 65), (64, 64), (128, 290)):
            found = await log.records(seqs[first], seqs[last], 1000)
            assert [record.seq for record in found] == seqs[first + 1 : last]
        assert len(await log.records(seqs[100], seqs[200], 7)) == 7

    run(engine, law)


def test_a_log_is_busy_while_it_writes(engine: Engine) -> None:
    async def law(log: Log) -> None:
        assert not log.busy
        writing = asyncio.create_task(log.append([Draft(1, decided(1))]))
        while not writing.done() and not log.busy:  # noqa: ASYNC110  (it is no event)
            await asyncio.sleep(0)
        assert log.busy or isinstance(log, MemoryLog), "that waits for nothing"
        await writing
        assert not log.busy

    run(engine, law)
