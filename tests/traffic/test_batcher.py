"""What several runs report at one time travels together, and an error reaches each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from foretell.protocol import FeedbackItem
from foretell.protocol.fields import MAX_BATCH_EVENTS
from foretell.traffic.batcher import EventBatcher
from foretell.traffic.service import WrongAnswer
from tests.traffic.scripted import Scripted


class Slow(Scripted):
    """Takes a moment for a batch."""

    def __init__(self) -> None:
        super().__init__(lambda number, t: 0)
        self.batches: list[int] = []

    async def report(self, events: Sequence[FeedbackItem]) -> list[str]:
        self.batches.append(len(events))
        await asyncio.sleep(0.01)
        return [str(event.event_id) for event in events]


class Broken(Scripted):
    """Refuses every batch."""

    async def report(self, events: Sequence[FeedbackItem]) -> list[str]:
        raise WrongAnswer("no")


def events(run: int, count: int) -> list[FeedbackItem]:
    return [FeedbackItem("d", f"{run}-{number}", value=1.0) for number in range(count)]


def test_what_comes_while_a_batch_is_on_its_way_is_in_the_next_and_each_gets_its_own() -> None:
    service = Slow()

    async def all_runs() -> None:
        batcher = EventBatcher(service)
        answers = await asyncio.gather(*(batcher.send(events(run, run)) for run in range(8)))
        for run, statuses in enumerate(answers):
            assert statuses == [f"{run}-{number}" for number in range(run)]

    asyncio.run(all_runs())
    assert sum(service.batches) == sum(range(8))
    assert len(service.batches) <= 2


def test_no_batch_is_larger_than_the_server_takes() -> None:
    service = Slow()

    async def all_runs() -> None:
        batcher = EventBatcher(service)
        await asyncio.gather(
            *(batcher.send(events(run, MAX_BATCH_EVENTS // 3)) for run in range(9))
        )

    asyncio.run(all_runs())
    assert sum(service.batches) == 9 * (MAX_BATCH_EVENTS // 3)
    assert max(service.batches) <= MAX_BATCH_EVENTS


def test_an_error_is_raised_where_the_events_came_from() -> None:
    async def two_runs() -> list[list[str] | BaseException]:
        batcher = EventBatcher(Broken(lambda number, t: 0))
        sent = [batcher.send(events(run, 1)) for run in range(2)]
        return await asyncio.gather(*sent, return_exceptions=True)

    assert all(isinstance(outcome, WrongAnswer) for outcome in asyncio.run(two_runs()))
