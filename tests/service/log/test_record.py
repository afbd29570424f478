"""The stored form of a record: what is read is what was written, or damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.service.log.chain import LINK_EVERY, START, Chain, KeptLink, find_damage, verified
from foretell.service.log.errors import Damaged
from foretell.service.log.record import (
    StoredRow,
    claim_number,
    packed,
    personal_checksum,
    personal_is_sound,
    record_of,
    state_digest,
    state_is_sound,
    stored_row,
)
from foretell.service.model.events import Decided, Feedback, KeyRevoked, Record

DECIDED = Decided(1, 0, 0.5, 0, 2, 1 << 63, 12345)
SEQ = 1_800_000_000_000_000 * 2048


def test_a_record_is_read_as_it_was_written() -> None:
    for event, about in ((DECIDED, SEQ), (Feedback(1, "e", 0, 0, 1.0), 77), (KeyRevoked("k"), 0)):
        row = stored_row(SEQ, 3, about, event)
        assert record_of(row) == Record(SEQ, 3, about, event)


def test_a_decision_is_about_itself() -> None:
    assert stored_row(SEQ, 3, 0, DECIDED).decision == SEQ


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_flipped_bit_is_found(at: int, bit: int) -> None:
    row = stored_row(SEQ, 3, SEQ, DECIDED)
    at %= len(row.body)
    body = bytearray(row.body)
    body[at] ^= 1 << bit
    with pytest.raises(Damaged, match=str(SEQ)):
        record_of(row._replace(body=bytes(body)))


@pytest.mark.parametrize(
    "changed",
    [
        {"campaign": 4},
        {"decision": 0},
        {"checksum": 0},
        {"campaign": -1},
        {"campaign": "3"},
        {"body": "text"},
        {"body": None},
    ],
)
def test_a_changed_column_is_found(changed: dict[str, object]) -> None:
    row = stored_row(SEQ, 3, SEQ, DECIDED)
    with pytest.raises(Damaged):
        record_of(row._replace(**changed))  # type: ignore[arg-type]


def chain_of(count: int) -> tuple[list[StoredRow], list[KeptLink], bytes]:
    rows = [stored_row(SEQ + 2048 * n, 1, 0, KeyRevoked(f"{n}")) for n in range(count)]
    chain = Chain()
    kept = [link for link in map(chain.add, rows) if link is not None]
    return rows, kept, chain.link


@pytest.mark.parametrize("before", [0, 1, LINK_EVERY - 1, LINK_EVERY])
def test_many_records_are_linked_as_one_after_the_other(before: int) -> None:
    rows, kept, end = chain_of(3 * LINK_EVERY)
    chain = Chain()
    found = [link for link in map(chain.add, rows[:before]) if link is not None]
    rest = rows[before:]
    found += chain.add_all([row.seq for row in rest], [packed(*row[:4]) for row in rest])
    assert (found, chain.link, chain.seq) == (kept, end, rows[-1].seq)
    assert chain.add_all([], []) == []


@pytest.mark.parametrize("count", [0, 1, LINK_EVERY - 1, LINK_EVERY, 3 * LINK_EVERY + 5])
def test_a_whole_chain_has_no_damage(count: int) -> None:
    rows, kept, end = chain_of(count)
    assert not any(find_damage(rows, kept, end))
    links = {link.seq: link.link for link in kept}
    assert [one.seq for one in verified(rows, START, links, end)] == [row.seq for row in rows]
    for link in kept:
        rest = [row for row in rows if row.seq > link.seq]
        assert len(list(verified(rest, link, links, end))) == len(rest)


def test_damage_is_told_apart() -> None:
    rows, kept, end = chain_of(3 * LINK_EVERY)

    def found(rows: list[StoredRow], kept: list[KeptLink]) -> list[str]:
        return [one for one in find_damage(rows, kept, end) if one]

    (missing,) = found(rows, [kept[0], kept[2]])
    assert missing == f"the link of record {kept[1].seq} is missing"
    (broken,) = found(rows[:70] + rows[71:], kept)
    assert broken.startswith(f"the records after {kept[0].seq} up to {kept[1].seq} do not follow")
    checksum, chain = found([*rows[:70], rows[70]._replace(body=b"x"), *rows[71:]], kept)
    assert checksum == f"record {rows[70].seq} does not match its checksum"
    assert chain == broken
    (cut,) = found(rows[:-3], kept)
    assert cut.startswith("the log does not end as it did")
    strange = rows[70]._replace(body=None)  # type: ignore[arg-type]
    assert found([*rows[:70], strange, *rows[71:]], kept) == [checksum, chain]


def test_a_state_is_of_one_campaign_position_and_version() -> None:
    digest = state_digest(1, 2, "a", b"body")
    assert state_is_sound(1, 2, "a", b"body", digest)
    others = [(2, 2, "a", b"body"), (1, 3, "a", b"body"), (1, 2, "b", b"body"), (1, 2, "a", 0)]
    for campaign, position, version, body in others:
        assert not state_is_sound(campaign, position, version, body, digest)


def test_a_context_is_of_one_decision_and_unit() -> None:
    checksum = personal_checksum(SEQ, 1, b"unit", b"context")
    assert personal_is_sound(SEQ, 1, b"unit", b"context", checksum)
    for seq, unit, context in (
        (SEQ + 1, b"unit", b"context"),
        (SEQ, b"unitc", b"ontext"),
        (SEQ, None, b"context"),
        (SEQ, b"unit", None),
    ):
        assert not personal_is_sound(seq, 1, unit, context, checksum)


def test_the_numbers_of_claims_differ() -> None:
    claims = [(1, b"a", 5), (2, b"a", 5), (1, b"b", 5), (1, b"a", 6)]
    assert len({claim_number(*claim) for claim in claims}) == 4
