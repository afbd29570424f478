"""The log in memory is read by other threads as it was when they opened it."""

from __future__ import annotations

import asyncio

from foretell.service.log.memory import MemoryLog
from tests.service.log.engines import decide, read_all


def test_a_reader_for_another_thread_shares_nothing_that_is_written_meanwhile() -> None:
    async def law() -> None:
        log = MemoryLog()
        number = await decide(log)
        with log.reader() as reader:
            before, head = await reader.records(0, 1 << 62, 10), reader.head()
            later = await decide(log, nonce=1)
            assert await reader.records(0, 1 << 62, 10) == before
            assert [one.number for one in await reader.decisions(1, [number, later])] == [number]
            assert number < head == reader.head() <= later
            assert not reader.check().damage
        assert [record.seq for record in await read_all(log)] == [number, later]

    asyncio.run(law())
