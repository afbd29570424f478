"""The chain of a stream: the link of a record is a digest of it and of all records before it.

It is made from the records since the last link that was kept, and from that link. Every
`LINK_EVERY`-th is kept, and that of the last record. So a record that was changed, moved, added,
removed or cut off is found whenever records are read in order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from foretell.service.log.errors import Damaged
from foretell.service.log.record import DIGEST_BYTES, StoredRow, packed, record_of
from foretell.service.model.events import Record

ROOT = bytes(DIGEST_BYTES)
"""What the first record of a stream is linked to."""
LINK_EVERY = 64
"""Records after which a link is kept."""


class KeptLink(NamedTuple):
    """The link of a record, of which there have been `number` times `LINK_EVERY`."""

    number: int
    seq: int
    link: bytes

    @property
    def is_whole(self) -> bool:
        """Whether it is of the types that were stored: a damaged one may be of others."""
        numbers = isinstance(self.number, int) and isinstance(self.seq, int)
        return numbers and isinstance(self.link, bytes) and len(self.link) == DIGEST_BYTES


START = KeptLink(0, 0, ROOT)
"""What the first record of a stream is linked to."""


class Chain:
    """The end of a chain, which grows by a record at a time."""

    def __init__(self, start: KeptLink = START) -> None:
        """Go on after a link that was kept."""
        self.last = start
        """The last link that was kept."""
        self.seq = start.seq
        self._since = 0
        self._digest = _digest_after(start)

    @property
    def link(self) -> bytes:
        """The link of the last record."""
        return self._digest.digest() if self._since else self.last.link

    def copy(self) -> Chain:
        """Return a chain that grows by itself from here on."""
        other = Chain(self.last)
        other.seq, other._since = self.seq, self._since
        other._digest = self._digest.copy()
        return other

    def add(self, row: StoredRow) -> KeptLink | None:
        """Add a record; return its link where it is to be kept."""
        return self.add_packed(row.seq, packed(*row[:4]))

    def add_packed(self, seq: int, packed_record: bytes) -> KeptLink | None:
        """Add a record that is packed already."""
        self._digest.update(packed_record)
        self.seq = seq
        self._since += 1
        return self._keep() if self._since == LINK_EVERY else None

    def add_all(self, seqs: Sequence[int], packed_records: Sequence[bytes]) -> list[KeptLink]:
        """Add records that are packed already; return the links that are to be kept."""
        kept, added = [], 0
        while added < len(seqs):
            some = packed_records[added : added + LINK_EVERY - self._since]
            added += len(some)
            self._digest.update(b"".join(some))
            self.seq = seqs[added - 1]
            self._since += len(some)
            if self._since == LINK_EVERY:
                kept.append(self._keep())
        return kept

    def _keep(self) -> KeptLink:
        """Keep the link of the last record, after which the chain goes on."""
        self.last = KeptLink(self.last.number + 1, self.seq, self._digest.digest())
        self._since, self._digest = 0, _digest_after(self.last)
        return self.last


def _digest_after(kept: KeptLink) -> hashlib.blake2b:
    return hashlib.blake2b(key=kept.link, digest_size=DIGEST_BYTES)


def verified(
    rows: Iterable[StoredRow], start: KeptLink, kept: dict[int, bytes], end: bytes | None
) -> Iterator[Record]:
    """Read records in order after a link; raise `Damaged` where the chain is broken.

    `kept` has the links by seq, and `end` is that of the last record, where the rows reach it.
    """
    chain = Chain(start)
    for row in rows:
        yield record_of(row)
        link = chain.add(row)
        if (link is not None or row.seq in kept) and kept.get(row.seq) != chain.link:
            raise Damaged("a record up to", row.seq)
    if end is not None and chain.link != end:
        raise Damaged("a record after", chain.last.seq)


def find_damage(
    rows: Iterable[StoredRow], kept: Iterable[KeptLink], end: bytes | None, start: KeptLink = START
) -> Iterator[str | None]:
    """Check a whole stream: yield a sentence for each thing that is damaged, None for the rest.

    Or a part of it: after the link `start`, and without an `end` where that is archived.
    """
    chain, links, sound = Chain(start), iter(kept), start.seq
    expected = next(links, None)
    for row in rows:
        yield _damage_of(row)
        found = chain.add(row) if _is_row(row) else None
        if expected is not None and row.seq >= expected.seq:
            yield None if found == expected else _broken(sound, expected.seq)
            chain, sound = Chain(expected), expected.seq
            expected = next(links, None)
        elif found is not None and (expected is None or expected.number > found.number):
            yield f"the link of record {row.seq} is missing"
            sound = row.seq
    if expected is not None or (end is not None and chain.link != end):
        yield (
            f"the log does not end as it did: a record after {sound} "
            f"was cut off, changed, moved or added"
        )


def _damage_of(row: StoredRow) -> str | None:
    try:
        record_of(row)
    except Damaged as error:
        return f"record {error.seq} does not match its checksum"
    return None


def _is_row(row: StoredRow) -> bool:
    """Return whether a row can be linked: a damaged one may have values of another type."""
    numbers = all(isinstance(one, int) and one >= 0 for one in row[:3])
    return numbers and isinstance(row.body, bytes)


def _broken(after: int, upto: int) -> str:
    return (
        f"the records after {after} up to {upto} do not follow from one another: "
        f"one was changed, moved, removed or added"
    )
