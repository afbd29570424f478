"""Checked: a changed, moved, missing, foreign or cut-off record is found."""

from __future__ import annotations

import asyncio

import pytest

from foretell.service.log.errors import Damaged
from foretell.service.log.protocol import Draft, Log
from foretell.service.log.record import StoredRow, record_of, stored_row
from foretell.service.model.events import KeyRevoked
from tests.service.log.engines import (
    ADMIN,
    Edit,
    Engine,
    accepted,
    between,
    decide,
    read_all,
    run,
)


def changed(rows: list[StoredRow]) -> list[StoredRow]:
    """Change a byte of a record."""
    row = rows[70]
    rows[70] = row._replace(body=row.body[:-1] + bytes([row.body[-1] ^ 1]))
    return rows


def rewritten(rows: list[StoredRow]) -> list[StoredRow]:
    """Put another event in the place of one, with a sound checksum."""
    row = rows[70]
    rows[70] = stored_row(row.seq, row.campaign, row.decision, KeyRevoked("forged"))
    return rows


def swapped(rows: list[StoredRow]) -> list[StoredRow]:
    """Let two records change places, with sound checksums."""
    one, other = rows[70], rows[71]
    rows[70] = stored_row(one.seq, other.campaign, other.decision, record_of(other).event)
    rows[71] = stored_row(other.seq, one.campaign, one.decision, record_of(one).event)
    return rows


def moved(rows: list[StoredRow]) -> list[StoredRow]:
    """Move a record to another place, with a sound checksum."""
    row = stored_row(between(rows[80]), rows[70].campaign, 0, record_of(rows[70]).event)
    return [*rows[:70], *rows[71:81], row, *rows[81:]]


def removed(rows: list[StoredRow]) -> list[StoredRow]:
    return rows[:70] + rows[71:]


def added(rows: list[StoredRow]) -> list[StoredRow]:
    """Add a foreign record with a sound checksum."""
    row = stored_row(between(rows[70]), 1, 0, KeyRevoked("foreign"))
    return [*rows[:71], row, *rows[71:]]


def cut_off(rows: list[StoredRow]) -> list[StoredRow]:
    return rows[:-1]


def all_cut_off(rows: list[StoredRow]) -> list[StoredRow]:
    return []


def appended(rows: list[StoredRow]) -> list[StoredRow]:
    return [*rows, stored_row(between(rows[-1]), 1, 0, KeyRevoked("foreign"))]


BROKEN = "the records after {links[0]} up to {links[1]} do not follow from one another"
ANOTHER_END = "the log does not end as it did: a record after {links[3]} was cut off"
DAMAGE: dict[Edit, str] = {
    changed: "record {rows[70]} does not match its checksum",
    rewritten: BROKEN,
    swapped: BROKEN,
    moved: BROKEN,
    removed: BROKEN,
    added: BROKEN,
    cut_off: ANOTHER_END,
    all_cut_off: "the log does not end as it did: a record after 0 was cut off",
    appended: ANOTHER_END,
}
"""What verify says of it, with the seqs of records and of every 64th one."""


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_by_a_check_and_by_reading_in_order(engine: Engine, damage: Edit) -> None:
    seqs: list[int] = []

    def damage_noted(rows: list[StoredRow]) -> list[StoredRow]:
        seqs.extend(row.seq for row in rows)
        return damage(rows)

    async def fill(log: Log) -> None:
        for n in range(150):
            await accepted(log, Draft(1, KeyRevoked(f"{n}")), ADMIN)
            await asyncio.sleep(0.00002)
        assert log.check() == (300, 0, [])

    run(engine, fill)
    engine.edit(damage_noted)
    said = DAMAGE[damage].format(rows=seqs, links=seqs[63::64])
    found = engine.check()
    assert any(said in sentence for sentence in found), found
    assert len(found) <= 2, "what is sound is not called damaged"

    async def law(log: Log) -> None:
        assert log.check().damage == found
        with pytest.raises(Damaged):
            await read_all(log)

    try:
        run(engine, law)
    except Damaged:  # an engine may refuse to open what was cut off
        assert damage in (cut_off, all_cut_off, appended)


def test_a_changed_record_is_not_read_alone_either(engine: Engine) -> None:
    async def fill(log: Log) -> list[int]:
        return [await decide(log, nonce=n) for n in range(200)]

    numbers = run(engine, fill)
    engine.edit(changed)

    async def law(log: Log) -> None:
        for read in (log.decisions(1, [numbers[70]]), log.decided(1, [numbers[70]])):
            with pytest.raises(Damaged):
                await read
        assert len(await log.decisions(1, numbers[:70])) == 70

    run(engine, law)


def test_a_decision_that_is_missing_is_damage_and_one_that_never_was_is_absent(
    engine: Engine,
) -> None:
    async def fill(log: Log) -> list[int]:
        return [await decide(log, nonce=n) for n in range(200)]

    numbers = run(engine, fill)
    engine.edit(removed)

    async def law(log: Log) -> None:
        for read in (log.decisions(1, [numbers[70]]), log.decided(1, [numbers[70]])):
            with pytest.raises(Damaged):
                await read
        for number in (numbers[150] + 1, numbers[-1] + 1):
            assert await log.decisions(1, [number]) == []
            assert await log.decided(1, [number, numbers[151]]) == {
                numbers[151]: (await log.decisions(1, [numbers[151]]))[0].decided
            }

    run(engine, law)
