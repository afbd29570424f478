"""A tail that cannot be read for a while: nothing is folded twice, and nothing left out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from foretell import protocol
from foretell.service.engine import Engine
from foretell.service.engine.replay import rebuild
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.log import PostgresLog

CAMPAIGN = protocol.NewCampaign(name="c", actions=["a", "b"], signals=["click"], policy="ucb")


async def until(holds: Any) -> None:
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.005)


class UnreadableTail:
    """Lets the next reads of a tail fail, as while the database is away."""

    def __init__(self, log: PostgresLog, monkeypatch: pytest.MonkeyPatch, failures: int) -> None:
        self.failures = failures
        fetch = log._pool.fetch

        async def failing(sql: str, *values: Any) -> list[Any]:
            if self.failures and "decision = 0 OR campaign" in sql:
                self.failures -= 1
                raise LogClosed("the database is away")
            return await fetch(sql, *values)

        monkeypatch.setattr(log._pool, "fetch", failing)


def test_a_tail_that_cannot_be_read_at_first_does_not_go_back(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def law() -> None:
        log = await PostgresLog.open(dsn)
        try:
            await until(lambda: log.head() > 0)
            after, tail = log.head() - 1, UnreadableTail(log, monkeypatch, 3)
            items = log.tail(after)
            reached = [(await anext(items)).upto for _ in range(8)]
            assert tail.failures == 0
            assert min(reached) > after
            assert reached == sorted(reached)
        finally:
            await log.close()

    asyncio.run(law())


def test_who_folds_for_another_while_the_log_cannot_be_read_leaves_out_nothing(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def law() -> None:
        logs = [await PostgresLog.open(dsn) for _ in range(2)]
        found = [await Engine.open(log, compiled=False) for log in logs]
        try:
            await found[0].create(CAMPAIGN)
            actives = [one.runtime.by_name["c"] for one in found]
            await until(lambda: sum(one.folding for one in actives) == 1)
            late = [one.folding for one in actives].index(False)
            engine, log, active = found[late], logs[late], actives[late]

            async def nothing(*_: Any) -> dict[int, Any]:
                return {}

            monkeypatch.setattr(log.sharing, "newer_states", nothing)
            for _ in range(5):
                await found[1 - late].decide("c", protocol.DecisionRequest())
            head = log.now()
            await until(lambda: engine.fold.position >= head)
            assert active.campaign.decided == 0, "no state was taken over"
            log._end_followers()
            tail = UnreadableTail(log, monkeypatch, 1)
            monkeypatch.setattr(log.sharing, "folds", lambda _: tail.failures == 0)
            await until(lambda: active.folding and engine.fold.position > head)
            await found[1 - late].decide("c", protocol.DecisionRequest())
            await engine.settled()
            built = await rebuild(log, active.number, active.campaign.position)
            assert active.campaign.digest() == built.digest()
            assert active.campaign.decided == built.decided == 6
        finally:
            for one in found:
                await one.close()

    asyncio.run(law())
