"""States, counts, and what can be erased."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import Draft, Log, SavedState
from tests.service.log.engines import (
    Engine,
    accepted,
    decide,
    decided,
    read_all,
    run,
)


def test_the_newest_state_is_kept_and_the_log_goes_on_above_it(engine: Engine) -> None:
    async def law(log: Log) -> SavedState:
        assert await log.load_state(1) is None
        states = [SavedState(log.now(), version, b"state" * 9) for version in ("a", "b", "a")]
        for state in states:
            await log.save_state(1, state)
            assert await log.load_state(1) == state
        assert await log.load_state(2) is None
        return states[-1]

    state = run(engine, law)

    async def later(log: Log) -> None:
        assert log.head() >= state.position
        assert await log.load_state(1) == state
        assert await decide(log) >= state.position

    run(engine, later)


def test_the_last_uses_of_keys_are_kept(engine: Engine) -> None:
    async def law(log: Log) -> None:
        assert await log.uses() == {}
        await log.save_uses({"a": 1, "b": 2})
        await log.save_uses({"b": 3})
        assert await log.uses() == {"a": 1, "b": 3}

    run(engine, law)

    async def later(log: Log) -> None:
        assert await log.uses() == {"a": 1, "b": 3}

    run(engine, later)


def test_the_head_is_at_least_what_it_was_closed_with(engine: Engine) -> None:
    async def close() -> int:
        log = await engine.open()
        head = log.now() + (3_000_000 << 11)
        await log.close(head)
        return head

    head = asyncio.run(close())

    async def law(log: Log) -> None:
        assert log.head() >= head
        assert await decide(log) >= head

    run(engine, law)


@pytest.mark.parametrize("change", [lambda body: body[:-1] + b"x", lambda body: b""])
def test_a_damaged_state_is_not_loaded(
    engine: Engine, change: Callable[[bytes], bytes | None]
) -> None:
    run(engine, lambda log: log.save_state(1, SavedState(log.now(), "a", b"state")))
    engine.damage_states(change)

    async def law(log: Log) -> None:
        with pytest.raises(Damaged, match="the state as of"):
            await log.load_state(1)
        (sentence,) = log.check().damage
        assert "the state of campaign 1" in sentence

    run(engine, law)


def test_a_lost_state_is_none(engine: Engine) -> None:
    run(engine, lambda log: log.save_state(1, SavedState(log.now(), "a", b"state")))
    engine.damage_states(lambda _: None)

    async def law(log: Log) -> None:
        assert await log.load_state(1) is None
        assert log.check().damage == []

    run(engine, law)


def test_counts_add_up(engine: Engine) -> None:
    async def law(log: Log) -> None:
        for by in (1, 2):
            await log.add_counts(1, "duplicate", by)
        await log.add_counts(1, "late", 5)

    run(engine, law)
    assert run(engine, lambda log: log.counts(1)) == {"duplicate": 3, "late": 5}
    assert run(engine, lambda log: log.counts(2)) == {}


def test_what_is_erased_names_nobody_any_more(engine: Engine) -> None:
    async def law(log: Log) -> None:
        drafts = [
            Draft(1, decided(n), unit=unit, unit_action=n, context=b"context of " + unit)
            for n in range(3)
            for unit in (b"one", b"two")
        ]
        records = await accepted(log, *drafts, Draft(1, decided(), context=b"nobody's"))
        assert [await log.context(one.seq) for one in records[:2]] == [
            b"context of one",
            b"context of two",
        ]
        assert await log.erase(1, b"one") == 3
        assert await log.erase(1, b"one") == await log.erase(2, b"two") == 0
        assert await log.context(records[0].seq) == b""
        assert await log.context(records[1].seq) == b"context of two"
        assert await log.context(records[-1].seq) == b"nobody's"
        assert await log.unit_actions(1, b"one") == []
        assert len(await log.unit_actions(1, b"two")) == 3
        assert len(await read_all(log)) == 7
        await accepted(log, Draft(1, decided(), unit=b"one", unit_action=0))
        assert log.check().damage == []

    run(engine, law)
