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
APPEND = f"SELECT foretell.append({', '.join(f'${number}' for number in range(1, 32))})"


def unit_claim(unit: bytes, n: int, action: int) -> bytes:
    """Return what a sticky unit's action is summed up as."""
    return b"%d %d " % (n, action) + unit


class Wanted:
    """A draft, and what it claims."""

    __slots__ = ("claims", "draft", "unit_key")

    def __init__(self, draft: Draft) -> None:
        """Digest the claims of a draft."""
        self.draft = draft
        self.claims: list[Claim] = [(number, claim_digest(key)) for number, key in draft.claims]
        self.unit_key: UnitKey | None = None
        if draft.unit is not None and draft.unit_action is not None:
            self.unit_key = (draft.campaign, draft.unit, draft.unit_action)

    def all_claims(self) -> list[Any]:
        """Return what it claims: keys, and the action of a unit."""
        return self.claims if self.unit_key is None else [*self.claims, self.unit_key]


class Group:
    """Drafts that are written together, all or none."""

    def __init__(
        self, before: StreamRow, chain: Chain, seqs: Sequence[int], drafts: Sequence[Wanted]
    ) -> None:
        """Stamp each draft, and link it to the ones before."""
        self.before = before
        self.chain = chain.copy()
        self.records: list[Record] = []
        self._events: list[tuple[Any, ...]] = []
        self._links: list[tuple[Any, ...]] = []
        self._keys: list[tuple[Any, ...]] = []
        self._units: list[tuple[Any, ...]] = []
        self._personal: list[tuple[Any, ...]] = []
        self._claims = before.claims
        for seq, wanted in zip(seqs, drafts, strict=True):
            self._add(seq, wanted)
        self.stream = before._replace(
            head=stamp(moment(seqs[-1]) + 1),
            last=seqs[-1],
            records=before.records + len(drafts),
            link=self.chain.link,
            claims=self._claims % CLAIMS_MODULUS,
        )

    def _add(self, seq: int, wanted: Wanted) -> None:
        draft = wanted.draft
        campaign, event = draft.campaign, draft.event
        decided = isinstance(event, Decided)
        about = seq if decided else draft.decision
        body = encode_event(event)
        whole = packed(seq, campaign, about, body)
        self._events.append((seq, campaign, None if decided else about, body, checksum_of(whole)))
        kept = self.chain.add_packed(seq, whole)
        if kept is not None:
            self._links.append((kept.seq, kept.number, kept.link))
        for number, digest in wanted.claims:
            self._keys.append((number, digest, seq))
            self._claims += claim_number(number, digest, seq)
        if isinstance(event, Decided):
            self._add_personal(seq, draft, event)
        self.records.append(Record(seq, campaign, about, event))

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
            *_columns(self._events, 5),
            *_columns(self._links, 3),
            *_columns(self._keys, 3),
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
