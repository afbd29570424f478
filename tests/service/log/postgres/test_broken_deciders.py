"""Deciders that are broken on purpose are found out; those that are right pass the same test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import asyncpg
import pytest

from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres import streams
from foretell.service.log.postgres.append import Appending
from foretell.service.log.postgres.group import Group
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.postgres.streams import read_open_streams, seal
from foretell.service.log.protocol import Accepted
from foretell.service.model.events import SLOTS, Record
from tests.service.log.engines import accepted, decide, feedback, tail_until
from tests.service.log.postgres.cutting_proxy import CuttingProxy
from tests.service.log.postgres.test_streams import opened


def broken_watermark(log: PostgresLog) -> None:
    """Let a log read records that are there, whatever may still come before them."""
    log.watch.watermark = 1 << 62


def broken_one_left_out(log: PostgresLog) -> None:
    """Let a log go by its own stream alone."""
    compare = log.watch._compare_with_marks

    async def without_others() -> None:
        await compare()
        own = log.writer.own.row.stream
        log.watch.streams = [one for one in log.watch.streams if one.stream.stream == own]

    log.watch._compare_with_marks = without_others  # type: ignore[method-assign]


def stamped_early(log: PostgresLog, head: int) -> None:
    """Let a log write a record that it stamped long ago, as if it had been stopped meanwhile."""
    first = head - head % SLOTS + log.writer.own.stamps.slot

    def begin(records: int) -> range:
        return range(first, first + records * SLOTS, SLOTS)

    log.writer.own.stamps.begin = begin  # type: ignore[method-assign]


async def known_by(records: list[Record], seqs: set[int], seconds: float) -> None:
    """Wait until records have come, at most so many seconds."""
    for _ in range(round(100 * seconds)):
        if seqs <= {one.seq for one in records}:
            return
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("breaking", [None, broken_watermark, broken_one_left_out])
def test_a_tail_without_a_watermark_is_found_out(
    still: str, breaking: Callable[[PostgresLog], None] | None
) -> None:
    """A record of a stream that is behind comes after one that is above it."""

    async def law() -> bool:
        async with opened(still, still) as (log, behind):
            if breaking is not None:
                breaking(log)
            head = behind.writer.own.row.head
            number = await decide(log)
            records: list[Record] = []

            async def follow() -> None:
                async for item in log.tail(0):
                    records.extend(item.records)

            following = asyncio.create_task(follow())
            if breaking is not None:
                await known_by(records, {number}, 60)
            stamped_early(behind, head)
            late = await decide(behind)
            assert late < number
            log.now()  # both say at once how far they are
            behind.now()
            await known_by(records, {number, late}, 60 if breaking is None else 0.5)
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            known = [one.seq for one in records]
            return known == sorted(known) and {number, late} <= set(known)

    assert asyncio.run(law()) == (breaking is None)


GOES_ON = (
    Path(streams.__file__)
    .with_name("schema.sql")
    .read_text("utf-8")
    .partition("CREATE FUNCTION foretell.move_head")[2]
    .partition("END $$;")[0]
    .replace("AND NOT sealed", "")
)
"""A decider whose statements do not ask whether its stream was sealed."""


@pytest.mark.parametrize("breaking", [False, True])
def test_a_decider_that_goes_on_after_it_was_sealed_is_found_out(
    dsn: str, breaking: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """By whoever follows: what it wrote does not match, or comes where they have passed."""

    async def law() -> bool:
        async with opened(dsn, dsn) as (log, sealed):
            connection = await asyncpg.connect(dsn)
            if breaking:
                await connection.execute(
                    f"CREATE OR REPLACE FUNCTION foretell.move_head{GOES_ON}END $$"
                )
            before, own = sealed.writer.own.stamps.now(), sealed.writer.own
            stream = own.row.stream
            found = False
            while not found:  # its heart beats meanwhile
                (one,) = [
                    one
                    for one in await read_open_streams(connection)
                    if one.stream.stream == stream
                ]
                found = await seal(connection, one)
            await connection.close()
            number, late = await decide(log), 0
            try:
                items = await tail_until(log, 0, lambda _, upto: upto > number, 5)
            except TimeoutError:
                return "does not match its checksum" not in caplog.text
            if own.row.stream != stream:
                return True  # it has left the one that was sealed
            stamped_early(sealed, before)
            with suppress(LogClosed):
                late = await decide(sealed)
            known = [record.seq for item in items for record in item.records]
            return late == 0 or late > number or late in known

    assert asyncio.run(law()) is not breaking


async def answer_early(appending: Appending) -> None:
    """Answer when the records are stamped, and write them then."""
    send = appending._own.send

    async def answering(group: Group) -> None:
        for job in appending._jobs:
            job.done.set_result([Accepted(record) for record in group.records])
        await send(group)

    appending._own.send = answering  # type: ignore[method-assign]
    await Appending.run(appending)


@pytest.mark.parametrize("breaking", [False, True])
def test_a_decider_that_answers_before_the_commit_is_found_out(
    dsn: str, breaking: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def law(name: str) -> bool:
        folder = tmp_path_factory.mktemp("p")
        async with CuttingProxy(dsn, folder) as proxy, opened(proxy.dsn, dsn) as (log, other):
            if breaking:
                log.writer.append_jobs = lambda jobs: answer_early(Appending(log.writer.own, jobs))
            proxy.refuse(refusing=True)
            acknowledged = False
            with suppress(LogClosed):
                acknowledged = bool(await accepted(log, feedback(1, 5 << 20, name)))
            return acknowledged <= bool(await other.by_key(1, [f"e:{name}".encode()]))

    # it may notice that the database is away before it is asked: then it refuses, as it should
    assert all(asyncio.run(law(f"e{attempt}")) for attempt in range(5)) is not breaking
