"""The records of one statement: the columns that are sent, and the stream as it is after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from foretell.service.log.chain import Chain
from foretell.service.log.protocol import Claim, Draft, UnitAction
from foretell.service.log.record import (
    checksum_of,
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
_AS_TEXT = {
    12: "bigint[]",  # campaigns
    13: "bigint[]",  # decisions
    15: "integer[]",  # checksums
    16: "bigint[]",  # campaigns of keys
    18: "bigint[]",  # places of keys
}
"""Numbers that every record has are sent as text: in a list the driver takes longer for each."""
_ARGUMENTS = (
    f"${number}::text::{_AS_TEXT[number]}" if number in _AS_TEXT else f"${number}"
    for number in range(1, 32)
)
APPEND = f"SELECT foretell.append({', '.join(_ARGUMENTS)})"


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
        self._links: list[tuple[Any, ...]] = []
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
        self._campaigns = [draft.campaign for draft in drafts]
        self._abouts: list[int | None] = [draft.decision for draft in drafts]
        abouts = [draft.decision for draft in drafts]
        for place, event in enumerate(events):
            if isinstance(event, Decided):
                abouts[place], self._abouts[place] = seqs[place], None
                self._add_personal(seqs[place], drafts[place], event)
        self._bodies = list(map(encode_event, events))
        wholes = list(map(packed, seqs, self._campaigns, abouts, self._bodies))
        self._checksums = list(map(checksum_of, wholes))
        for kept in map(self.chain.add_packed, seqs, wholes):
            if kept is not None:
                self._links.append((kept.seq, kept.number, kept.link))
        self.records = list(map(Record, seqs, self._campaigns, abouts, events))

    def _add_keys(self, seqs: Sequence[int], drafts: Sequence[Wanted]) -> None:
        keys = [
            (number, digest, place)
            for place, one in enumerate(drafts)
            for number, digest in one.claims
        ]
        self._keys = _columns(keys, 3)
        numbers, digests, places = self._keys
        claiming = [seqs[place] for place in places]
        self._claims += sum(map(claim_number, numbers, digests, claiming))

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
        return [
            *head_arguments(self.before, self.stream),
            seen,
            lock_milliseconds,
            self._first,
            _literal(self._campaigns),
            _literal(self._abouts),
            self._bodies,
            _literal(self._checksums),
            _literal(self._keys[0]),
            self._keys[1],
            _literal(self._keys[2]),
            *_columns(self._links, 3),
            *_columns(self._units, 5),
            *_columns(self._personal, 5),
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


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[list[Any]]:
    return (
        [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
    )


def _literal(numbers: Sequence[int | None]) -> str:
    """Return an array of numbers as PostgreSQL writes it."""
    return "{" + str(numbers)[1:-1].replace("None", "NULL") + "}"
