"""Decisions come with their feedback and their ranks."""

from __future__ import annotations

from foretell.service.log.protocol import Draft, Log
from foretell.service.model.events import KeyRevoked, moment
from tests.service.log.engines import (
    ADMIN,
    Engine,
    accepted,
    decide,
    decided,
    feedback,
    run,
)


def test_feedback_comes_with_its_decision_whenever_it_came(engine: Engine) -> None:
    """Before its decision, as after a decision that a power cut took; with it, and after it."""

    async def law(log: Log) -> None:
        early = (moment(log.now()) + 10_000_000) << 11
        (before,) = await accepted(log, feedback(1, early, "early"))
        assert await log.decisions(1, [early]) == []
        number = await decide(log, nonce=1)
        after = await accepted(
            log, feedback(1, number, "a"), feedback(1, number, "b"), feedback(2, number, "other")
        )
        (found,) = await log.decisions(1, [number])
        assert (found.number, found.rank, found.decided) == (number, 0, decided(1))
        assert found.feedback == after[:2]
        assert await log.decisions(2, [number]) == []
        assert await log.decisions(1, [before.seq, 12345]) == []
        assert await log.decided(1, [early, number]) == {number: decided(1)}

    run(engine, law)


def test_decisions_are_ranked_in_their_campaign(engine: Engine) -> None:
    async def law(log: Log) -> None:
        numbers: dict[int, list[int]] = {1: [], 2: []}
        for start in range(0, 1400, 35):
            drafts = [Draft(1 + (n % 3 == 0), decided(n)) for n in range(start, start + 35)]
            drafts.insert(5, feedback(1, 5 << 20, f"e{start}"))
            for record in await accepted(log, *drafts):
                if record.decision == record.seq:
                    numbers[record.campaign].append(record.seq)
        for campaign, known in numbers.items():
            assert len(known) > 400
            wanted = known[::-7]
            found = await log.decisions(campaign, wanted)
            assert [(one.number, one.rank) for one in found] == [
                (number, known.index(number)) for number in wanted
            ]
            for first in (0, 1, 255, 256, 257, 300):
                some = await log.decisions_after(campaign, known[first], 100)
                assert [(one.number, one.rank) for one in some] == [
                    (known[rank], rank) for rank in range(first + 1, min(first + 101, len(known)))
                ]
            for rank in (0, 1, 255, 256, 300, len(known) - 1):
                assert await log.number_at(campaign, rank) == known[rank]
            assert await log.number_at(campaign, len(known)) == 0
        assert await log.decisions_after(3, 0, 10) == []

    run(engine, law)
    run(engine, ranked_after_a_restart)


async def ranked_after_a_restart(log: Log) -> None:
    before = len(await log.decisions_after(1, 0, 10_000))
    number = await decide(log)
    assert [one.rank for one in await log.decisions(1, [number])] == [before]


def test_configurations_and_campaigns_are_found(engine: Engine) -> None:
    async def law(log: Log) -> None:
        written = await accepted(log, ADMIN, *[Draft(n, KeyRevoked(f"{n}")) for n in (7, 2, 7)])
        await decide(log, 9)
        assert await log.campaigns() == [2, 7]
        assert await log.configurations(7) == [written[1], written[3]]
        assert await log.configurations(0) == [written[0]]
        assert await log.configurations(9) == []

    run(engine, law)
