"""Once: of two drafts that claim the same, one is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from msgspec.structs import replace

from foretell.service.log.protocol import (
    Accepted,
    Draft,
    Duplicate,
    Log,
    Taken,
    UnitAction,
    Written,
)
from foretell.service.model.events import KeyRevoked, Record
from tests.service.log.engines import (
    Engine,
    accepted,
    decided,
    feedback,
    read_all,
    run,
)


def test_a_claim_is_for_ever(engine: Engine) -> None:
    """Neither the same event nor another one under the same key is written again."""

    async def first(log: Log) -> Record:
        (record,) = await accepted(log, feedback(1, 5 << 20, "a"))
        return record

    record = run(engine, first)

    async def law(log: Log) -> None:
        before = await read_all(log)
        for value in (1.0, 2.0):
            for _ in range(2):
                assert await log.append([feedback(1, 5 << 20, "a", value)]) == [Duplicate(record)]
        assert await read_all(log) == before
        await accepted(log, feedback(2, 5 << 20, "a"), feedback(1, 5 << 20, "b"))
        assert await log.by_key(1, [b"e:a", b"e:none"]) == {b"e:a": record}

    run(engine, law)


def test_a_draft_with_one_claim_of_several_taken_writes_nothing(engine: Engine) -> None:
    async def law(log: Log) -> None:
        (record,) = await accepted(log, Draft(1, decided(), claims=((1, b"a"),)))
        both = Draft(1, decided(), claims=((1, b"b"), (1, b"a")))
        assert await log.append([both]) == [Duplicate(record)]
        await accepted(log, Draft(1, decided(), claims=((1, b"b"), (1, b"c"))))

    run(engine, law)


class Checking:
    """A log that is broken on purpose: it checks, others have their turn, and then it appends."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.barrier = asyncio.Barrier(2)

    async def append(self, drafts: Sequence[Draft]) -> list[Written]:
        known = [await self.log.by_key(*_first_claim(draft)) for draft in drafts]
        with suppress(TimeoutError):  # a third one may find nobody to wait for
            await asyncio.wait_for(self.barrier.wait(), 0.2)
        written: list[Written] = []
        for draft, earlier in zip(drafts, known, strict=True):
            if earlier:
                written.append(Duplicate(*earlier.values()))
            else:
                written += await self.log.append([replace(draft, claims=())])
        return written


def _first_claim(draft: Draft) -> tuple[int, list[bytes]]:
    campaign, key = draft.claims[0]
    return campaign, [key]


async def claimed_twice_in_one_call(log: Log | Checking) -> None:
    written = await log.append([feedback(1, 5 << 20, "a"), feedback(1, 5 << 20, "a", 2.0)])
    one_wins(written)


async def claimed_by_two_tasks(log: Log | Checking) -> None:
    barrier = asyncio.Barrier(2)

    async def append(value: float) -> Written:
        await barrier.wait()
        return (await log.append([feedback(1, 5 << 20, "a", value)]))[0]

    one_wins(await asyncio.gather(append(1.0), append(2.0)))


async def claimed_in_two_batches(log: Log | Checking) -> None:
    """The second comes while the first is being written."""

    async def append(other: str) -> list[Written]:
        return await log.append([feedback(1, 5 << 20, other), feedback(1, 5 << 20, "a")])

    first = asyncio.create_task(append("b"))
    for _ in range(3):
        await asyncio.sleep(0)
    one_wins([written[1] for written in await asyncio.gather(first, append("c"))])


async def configured_by_two_tasks(log: Log | Checking) -> None:
    def draft(version: str) -> Draft:
        return Draft(1, KeyRevoked(version), claims=((1, b"v:2"),))

    one_wins(
        [one for (one,) in await asyncio.gather(log.append([draft("a")]), log.append([draft("b")]))]
    )


def one_wins(written: Sequence[Written]) -> None:
    (winner,) = (one for one in written if isinstance(one, Accepted))
    (loser,) = (one for one in written if not isinstance(one, Accepted))
    assert loser == Duplicate(winner.record)


RACES = (
    claimed_twice_in_one_call,
    claimed_by_two_tasks,
    claimed_in_two_batches,
    configured_by_two_tasks,
)


@pytest.mark.parametrize("race", RACES)
def test_of_two_drafts_with_one_claim_one_is_written(
    engine: Engine, race: Callable[[Log | Checking], Any]
) -> None:
    async def law(log: Log) -> None:
        await race(log)
        claim = b"v:2" if race is configured_by_two_tasks else b"e:a"
        (winner,) = (await log.by_key(1, [claim])).values()
        assert winner in await read_all(log)

    run(engine, law)


@pytest.mark.parametrize("race", RACES)
def test_a_log_that_checks_and_then_appends_fails_this_suite(
    engine: Engine, race: Callable[[Log | Checking], Any]
) -> None:
    async def law(log: Log) -> None:
        with pytest.raises((AssertionError, ValueError)):
            await race(Checking(log))

    run(engine, law)


def test_the_nth_action_of_a_unit_is_given_once(engine: Engine) -> None:
    def draft(n: int, action: int, unit: bytes = b"u") -> Draft:
        return Draft(1, decided(action=action), unit=unit, unit_action=n)

    async def law(log: Log) -> None:
        (first,) = await accepted(log, draft(0, 3))
        taken = Taken(UnitAction(0, 3, first.seq))
        assert await log.append([draft(0, 1)]) == [taken]
        two = await asyncio.gather(log.append([draft(1, 1)]), log.append([draft(1, 2)]))
        (winner,) = (one for (one,) in two if isinstance(one, Accepted))
        (loser,) = (one for (one,) in two if isinstance(one, Taken))
        assert loser.earlier.decision == winner.record.seq
        await accepted(log, draft(0, 1, b"v"), draft(1, 1, b"v"))
        assert await log.append([draft(2, 1, b"v"), draft(2, 2, b"v")]) == [
            *[Accepted(record) for record in (await read_all(log))[-1:]],
            Taken(UnitAction(2, 1, (await read_all(log))[-1].seq)),
        ]
        known = await log.unit_actions(1, b"u")
        assert known == [UnitAction(0, 3, first.seq), loser.earlier]
        assert await log.unit_actions(2, b"u") == []

    run(engine, law)


def test_a_repeated_key_comes_before_a_taken_action(engine: Engine) -> None:
    async def law(log: Log) -> None:
        draft = Draft(1, decided(), claims=((1, b"d:1"),), unit=b"u", unit_action=0)
        (record,) = await accepted(log, draft)
        assert await log.append([draft]) == [Duplicate(record)]

    run(engine, law)
