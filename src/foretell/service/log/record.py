"""A record as every engine stores it: its bytes, their checksum, and the link of the chain.

The checksum is checked whenever a record is read, in whatever way. A link (`chain`) is a digest of
a record and of all before it in its stream.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from foretell.service.log.errors import Damaged
from foretell.service.model.events import AnyEvent, Decided, Record, decode_event, encode_event

_HEAD = struct.Struct(">QIQ")
_pack_claim = _HEAD.pack
_pack_head = struct.Struct(">QIQI").pack
_new = tuple.__new__
_SIGN = 0x80000000
DIGEST_BYTES = 16
KEY_BYTES = 12
"""Bytes of the digest under which a claim is stored."""
_new_key_digest = blake2b(digest_size=KEY_BYTES).copy
_new_claim_digest = blake2b(digest_size=7).copy
UNREADABLE = (msgspec.MsgspecError, struct.error, TypeError, ValueError, AttributeError)
"""What reading a damaged value may raise: it may be of another type."""


class StoredRow(NamedTuple):
    """A record as it is stored."""

    seq: int
    campaign: int
    decision: int
    """The number of the decision that it is about (its own seq for a decision), else 0."""
    body: bytes
    checksum: int


def stored_row(seq: int, campaign: int, decision: int, event: AnyEvent) -> StoredRow:
    """Return the stored form of an event; a decision is about itself."""
    about = seq if isinstance(event, Decided) else decision
    body = encode_event(event)
    return StoredRow(seq, campaign, about, body, checksum_of(packed(seq, campaign, about, body)))


def packed(seq: int, campaign: int, decision: int, body: bytes) -> bytes:
    """Return all of a record in one piece: what its checksum and its link are made from."""
    return _pack_head(seq, campaign, decision, len(body)) + body


def checksum_of(packed_record: bytes) -> int:
    """Return the checksum of a record."""
    found = crc32(packed_record)
    return found - ((found & _SIGN) << 1)  # `_signed` without its call: this is for every record


def checksums_of(packed_records: Sequence[bytes]) -> list[int]:
    """Return the checksums of many records."""
    unsigned = array("I", map(crc32, packed_records))
    return array("i", unsigned.tobytes()).tolist()


def record_of(row: Sequence[Any]) -> Record:
    """Return the record that was stored, or raise `Damaged` with its seq."""
    return next(records_of((row,)))


def records_of(rows: Iterable[Sequence[Any]]) -> Iterator[Record]:
    """Yield the records of rows, or raise `Damaged` with the seq of the first that is not sound.

    A decision is about itself, also where its row leaves that out.
    """
    for seq, campaign, decision, body, checksum in rows:
        about = seq if decision is None else decision
        try:  # `checksum_of` and `Record` without their calls: a refit reads millions
            crc = crc32(_pack_head(seq, campaign, about, len(body)) + body)
            sound = crc - ((crc & _SIGN) << 1) == checksum
            event = decode_event(body) if sound else None
        except UNREADABLE:
            event = None
        if event is None or (about == seq) is not (type(event) is Decided):
            raise Damaged("record", seq)
        yield _new(Record, (seq, campaign, about, event))


def claim_digest(key: bytes) -> bytes:
    """Return the digest under which the key of a claim is stored, however long the key is."""
    digest = _new_key_digest()
    digest.update(key)
    return digest.digest()


def claim_number(campaign: int, key: bytes, seq: int) -> int:
    """Return a number for a claim: the sum of all of them shows that none was changed."""
    digest = _new_claim_digest()
    digest.update(_pack_claim(seq, campaign, 0) + key)
    return int.from_bytes(digest.digest(), "big")


def state_digest(campaign: int, position: int, version: str, body: bytes) -> bytes:
    """Return the digest of a saved state: of its bytes, and of what it is the state of."""
    head = b"%d %d %s\0" % (campaign, position, version.encode())
    return blake2b(head + body, digest_size=DIGEST_BYTES).digest()


def state_is_sound(campaign: Any, position: Any, version: Any, body: Any, stored: Any) -> bool:
    """Return whether a saved state matches its digest."""
    try:
        return state_digest(campaign, position, version, body) == stored
    except UNREADABLE:
        return False


def personal_checksum(seq: int, campaign: int, unit: bytes | None, context: bytes) -> int:
    """Return the checksum of a decision's unit and context."""
    head = crc32(_HEAD.pack(seq, campaign, len(unit or b"")))
    return _signed(crc32(context, crc32(unit or b"", head)))


def personal_is_sound(seq: Any, campaign: Any, unit: Any, context: Any, stored: Any) -> bool:
    """Return whether a decision's unit and context match their checksum."""
    try:
        return personal_checksum(seq, campaign, unit, context) == stored
    except UNREADABLE:
        return False


def row_checksum(*columns: Any) -> int:
    """Return the checksum of a row that is stored next to the records."""
    return _signed(crc32(msgspec.msgpack.encode(columns)))


def _signed(checksum: int) -> int:
    """Return a checksum as a database stores it in four bytes."""
    return checksum - ((checksum & _SIGN) << 1)
