"""The records of one statement: the columns that are sent, and the stream as it is after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

from foretell.service.log.chain import Chain
from foretell.service.log.protocol import Claim, Draft, UnitAction
from foretell.service.log.record import (
    checksums_of,
    claim_digest,
    claim_number,
    packed,
    personal_checksum,
)
from foretell.service.log.stream_row import StreamRow
from foretell.service.model.events import Decided, Record, encode_event, moment, stamp

CLAIMS_MODULUS = 1 << 62
UnitKey: TypeAlias = tuple[int, bytes, int]
"""A campaign, a unit of it, and the n of one of its actions."""
_HEAD_TYPES = ("",) * 11
_COLUMN_TYPES = (
    *("bigint[]", "bigint[]", "integer[]", "integer[]", "", "integer[]"),  # records
    *("bigint[]", "bigint[]", ""),  # keys
    *("bigint[]", "bigint[]", "bytea[]"),  # links
    *("bigint[]", "bytea[]", "integer[]", "integer[]", "bigint[]"),  # units
    *("bigint[]", "bigint[]", "bytea[]", "bytea[]", "integer[]"),  # personal
)
"""Lists are sent as text: the driver takes longer for each value, and first asks for its type."""
_ARGUMENTS = (
    f"${number}::text::{kind}" if kind else f"${number}"
    for number, kind in enumerate(_HEAD_TYPES + _COLUMN_TYPES, 1)
)
APPEND = f"SELECT foretell.append({', '.join(_ARGUMENTS)})"
_new_record: Callable[[tuple[Any, ...]], Record] = partial(tuple.__new__, Record)
"""Makes a record without the call of its type: this is for every record."""


def unit_claim(unit: bytes, n: int, action: int) -> bytes:
    """Return what a sticky unit's action is summed up as."""
    return b"%d %d " % (n, action) + unit


class Wanted:
    """A draft, and what it claims."""

    __slots__ = ("all_claims", "claims", "draft", "unit_key")

    def __init__(self, draft: Draft) -> None:
        """Digest the claims of a draft."""
        self.draft = draft
        self.claims: list[Claim] = [(number, claim_digest(key)) for number, key in draft.claims]
        self.unit_key: UnitKey | None = None
        self.all_claims: list[Any] = self.claims
        """What it claims: keys, and the action of a unit."""
        if draft.unit_action is not None and draft.unit is not None:
            self.unit_key = (draft.campaign, draft.unit, draft.unit_action)
            self.all_claims = [*self.claims, self.unit_key]


class Group:
    """Drafts that are written together, all or none."""

    def __init__(
        self, before: StreamRow, chain: Chain, seqs: Sequence[int], drafts: Sequence[Wanted]
    ) -> None:
        """Stamp each draft, and link it to the ones before."""
        self.before = before
        self.chain = chain.copy()
        self._first = seqs[0]
        self._units: list[tuple[Any, ...]] = []
        self._personal: list[tuple[Any, ...]] = []
        self._claims = before.claims
        self._add_records(seqs, [one.draft for one in drafts])
        self._add_keys(seqs, drafts)
        self.stream = before._replace(
            head=stamp(moment(seqs[-1]) + 1),
            last=seqs[-1],
            records=before.records + len(drafts),
            link=self.chain.link,
            claims=self._claims % CLAIMS_MODULUS,
        )

    def _add_records(self, seqs: Sequence[int], drafts: Sequence[Draft]) -> None:
        """Make the columns of the records one after the other: that is quicker than row by row."""
        events = [draft.event for draft in drafts]
        self._campaigns = campaigns = [draft.campaign for draft in drafts]
        self._abouts: list[int | None] = [draft.decision for draft in drafts]
        abouts = [draft.decision for draft in drafts]
        decided = [(n, event) for n, event in enumerate(events) if isinstance(event, Decided)]
        for place, event in decided:
            abouts[place], self._abouts[place] = seqs[place], None
            self._add_personal(seqs[place], drafts[place], event)
        self._bodies = bodies = [encode_event(event) for event in events]
        wholes = list(map(packed, seqs, campaigns, abouts, bodies))
        self._checksums = checksums_of(wholes)
        self._links = [
            (kept.seq, kept.number, kept.link) for kept in self.chain.add_all(seqs, wholes)
        ]
        rows = zip(seqs, campaigns, abouts, events, strict=True)
        self.records = list(map(_new_record, rows))

    def _add_keys(self, seqs: Sequence[int], drafts: Sequence[Wanted]) -> None:
        """Make the columns of what is claimed."""
        self._key_places = [place for place, one in enumerate(drafts) for _ in one.claims]
        claims = [claim for one in drafts for claim in one.claims]
        self._key_campaigns = [campaign for campaign, _ in claims]
        self._key_digests = [digest for _, digest in claims]
        self._claims += sum(
            [
                claim_number(campaign, digest, seqs[place])
                for (campaign, digest), place in zip(claims, self._key_places, strict=True)
            ]
        )

    def _add_personal(self, seq: int, draft: Draft, event: Decided) -> None:
        campaign, unit = draft.campaign, draft.unit
        if unit is not None and draft.unit_action is not None:
            given = UnitAction(draft.unit_action, event.action, seq)
            self._units.append((campaign, unit, *given))
            self._claims += claim_number(campaign, unit_claim(unit, *given[:2]), seq)
        if unit is not None or draft.context:
            checksum = personal_checksum(seq, campaign, unit, draft.context)
            self._personal.append((seq, campaign, unit, draft.context, checksum))

    def arguments(self, seen: int, lock_milliseconds: int) -> list[Any]:
        """Return what the statement is called with."""
        lengths = [len(body) for body in self._bodies]
        starts = list(accumulate(lengths, initial=1))
        return [
            *head_arguments(self.before, self.stream),
            seen,
            lock_milliseconds,
            self._first,
            _literal(self._campaigns),
            _literal(self._abouts),
            _literal(starts[:-1]),
            _literal(lengths),
            b"".join(self._bodies),
            _literal(self._checksums),
            _literal(self._key_campaigns),
            _literal(self._key_places),
            b"".join(self._key_digests),
            *_literals(self._links, 3),
            *_literals(self._units, 5),
            *_literals(self._personal, 5),
        ]


def head_arguments(before: StreamRow, after: StreamRow) -> tuple[Any, ...]:
    """Return what moves the head of a stream."""
    return (
        before.stream,
        before.head,
        after.head,
        after.last,
        after.records,
        after.link,
        after.claims,
        after.checksum(),
    )


def _literals(rows: Sequence[tuple[Any, ...]], width: int) -> list[str]:
    """Return the columns of rows of numbers and bytes."""
    if not rows:
        return ["{}"] * width
    return ["{" + ", ".join(map(_value, column)) + "}" for column in zip(*rows, strict=True)]


def _value(value: int | bytes | None) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, int) else f'"\\\\x{value.hex()}"'


def _literal(numbers: Sequence[int | None]) -> str:
    """Return a column of numbers, of which there may be many."""
    return "{" + str(numbers)[1:-1].replace("None", "NULL") + "}"
