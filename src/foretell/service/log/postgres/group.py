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
_LISTS = (
    *(None,) * 11,  # what moves the head, and the first seq
    *("bigint[]", "bigint[]", "integer[]", "integer[]", None, "integer[]"),  # records
    *("bigint[]", "bigint[]", None),  # keys
    *("bigint[]", "bigint[]", "bytea[]"),  # links
    *("bigint[]", "bytea[]", "integer[]", "integer[]", "bigint[]"),  # units
    *("bigint[]", "bigint[]", "bytea[]", "bytea[]", "integer[]"),  # what can be erased
)
"""Which arguments are lists, and of what.

They are sent as text: the driver takes longer for each value, and asks the server for their types.
"""
_ARGUMENTS = (
    f"${number}" if of is None else f"${number}::text::{of}" for number, of in enumerate(_LISTS, 1)
)
APPEND = f"SELECT foretell.append({', '.join(_ARGUMENTS)})"
_new_record: Callable[[tuple[Any, ...]], Record] = partial(tuple.__new__, Record)
"""Makes a record without the call of its type: this is for every record."""


def unit_claim(unit: bytes, n: int, action: int) -> bytes:
    """Return what a sticky unit's action is summed up as."""
    return b"%d %d " % (n, action) + unit


class Wanted:
    """Drafts, and what they claim: all of them together, which is quicker than one by one."""

    def __init__(self, drafts: Sequence[Draft]) -> None:
        """Digest the claims of drafts."""
        self.drafts = drafts
        self.claims: list[Claim] = [
            (campaign, claim_digest(key)) for draft in drafts for campaign, key in draft.claims
        ]
        self.places = [place for place, draft in enumerate(drafts) for _ in draft.claims]
        """The place of the draft that makes each claim."""
        self.unit_keys: list[UnitKey] = [
            (draft.campaign, draft.unit, draft.unit_action)
            for draft in drafts
            if draft.unit_action is not None and draft.unit is not None
        ]

    @property
    def are_rivals(self) -> bool:
        """Whether two of them claim the same."""
        return len({*self.claims, *self.unit_keys}) < len(self.claims) + len(self.unit_keys)


class Group:
    """Drafts that are written together, all or none."""

    def __init__(
        self, before: StreamRow, chain: Chain, seqs: Sequence[int], wanted: Wanted
    ) -> None:
        """Stamp each draft, and link it to the ones before."""
        self.before = before
        self.chain = chain.copy()
        self._first = seqs[0]
        self._units: list[tuple[Any, ...]] = []
        self._personal: list[tuple[Any, ...]] = []
        self._claims = before.claims
        self._add_records(seqs, wanted.drafts)
        self._add_keys(seqs, wanted)
        self.stream = before._replace(
            head=stamp(moment(seqs[-1]) + 1),
            last=seqs[-1],
            records=before.records + len(seqs),
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

    def _add_keys(self, seqs: Sequence[int], wanted: Wanted) -> None:
        """Make the columns of what is claimed."""
        self._key_campaigns = [campaign for campaign, _ in wanted.claims]
        self._key_digests = [digest for _, digest in wanted.claims]
        self._key_places = wanted.places
        self._claims += sum(
            [
                claim_number(campaign, digest, seqs[place])
                for (campaign, digest), place in zip(wanted.claims, wanted.places, strict=True)
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
