"""A record of the log: as it is read, and as it is stored with its checksum and its link.

The checksum is checked whenever a record is read, in whatever way. The link is a digest of the
record and of all before it: the chain is checked whenever records are read in order, so that a
record that was changed, moved or removed is found.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any, NamedTuple

import msgspec

from foretell.service.model.errors import Damaged
from foretell.service.model.events import AnyEvent, decode_event, encode_event
from foretell.service.model.snapshot import digest

_HEAD = struct.Struct(">QIq")
NO_ROUND = -1
"""The round of a record that is about no decision."""
LINK_BYTES = 16
ROOT = bytes(LINK_BYTES)
"""What the first record is linked to."""


class Record(NamedTuple):
    """A record as it is read: its number, its campaign's number, and what it says."""

    seq: int
    campaign: int
    event: AnyEvent


class StoredRow(NamedTuple):
    """A record as it is stored, in the order of its columns."""

    seq: int
    campaign: int
    round: int
    """The round of the decision that it is about, or NO_ROUND."""
    key: str | None
    """A key that no other record of its campaign has."""
    body: bytes
    check: int
    link: bytes


STORED_COLUMNS = "seq, campaign, round, CAST(key AS BLOB), body, checksum, link"
"""The columns as they are read: a damaged key may not be text any more."""


def stored_row(
    seq: int, campaign: int, about: int, key: str | None, event: AnyEvent, before: bytes
) -> StoredRow:
    """Return the stored form of an event that follows the record with the link `before`."""
    body = encode_event(event)
    check = _checksum(seq, campaign, about, None if key is None else key.encode(), body)
    return StoredRow(seq, campaign, about, key, body, check, link_after(before, check, body))


def link_after(before: bytes, check: int, body: bytes) -> bytes:
    """Return the link of a record: a digest of it and of everything before it."""
    return hashlib.blake2b(b"%d" % check + body, key=before, digest_size=LINK_BYTES).digest()


def event_of(row: tuple[int, int, int, bytes | None, bytes, int, bytes]) -> AnyEvent:
    """Return the event of a stored record, or raise `Damaged` with its number."""
    seq, campaign, about, key, body, check, _ = row
    try:
        if _checksum(seq, campaign, about, key, body) == check:
            return decode_event(body)
    except (msgspec.MsgspecError, struct.error, TypeError, ValueError, AttributeError):
        pass  # a damaged value may be of another type
    raise Damaged("record", seq)


def snapshot_digest(campaign: int, seq: int, body: bytes) -> bytes:
    """Return the digest of a snapshot: of its bytes, its campaign and its record."""
    return digest(b"%d %d " % (campaign, seq) + body)


def snapshot_is_sound(campaign: Any, seq: Any, body: Any, stored: Any) -> bool:
    """Return whether a snapshot matches its stored digest."""
    try:
        return snapshot_digest(campaign, seq, body) == stored
    except TypeError:
        return False


def personal_checksum(seq: int, campaign: int, unit: bytes | None, context: bytes | None) -> int:
    """Return the checksum of a decision's unit and context."""
    head = zlib.crc32(_HEAD.pack(seq, campaign, len(unit or b"")))
    return zlib.crc32(context or b"", zlib.crc32(unit or b"", head))


def personal_is_sound(seq: Any, campaign: Any, unit: Any, context: Any, check: Any) -> bool:
    """Return whether a decision's unit and context match their stored checksum."""
    try:
        return personal_checksum(seq, campaign, unit, context) == check
    except (struct.error, TypeError):
        return False


def _checksum(seq: int, campaign: int, about: int, key: bytes | None, body: bytes) -> int:
    head = zlib.crc32(_HEAD.pack(seq, campaign, about))
    return zlib.crc32(body, zlib.crc32(b"" if key is None else key + b"\0", head))
