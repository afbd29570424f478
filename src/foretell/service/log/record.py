"""A record of the log as it is stored: a checksum of its own, and a link to the record before.

The checksum is checked whenever a record is read, by whatever way; the chain whenever records are
read in order, so that a record that was changed, moved or taken out is found.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any, NamedTuple

import msgspec

from foretell.service.model.errors import Damaged, RequestProblem
from foretell.service.model.events import AnyEvent, decode, encode
from foretell.service.model.snapshot import digest

_HEAD = struct.Struct(">QIq")
NO_ROUND = -1
LINK = 16
"""Bytes of a link of the chain."""
ROOT = bytes(LINK)
"""What the first record is linked to."""


class StoredRow(NamedTuple):
    """A stored record, in the order of its columns."""

    seq: int
    campaign: int
    round: int
    """The round of the decision that it is about, or NO_ROUND."""
    key: str | None
    """What it must be the only one of its campaign to have."""
    body: bytes
    check: int
    link: bytes


COLUMNS = "seq, campaign, round, CAST(key AS BLOB), body, checksum, link"
"""As they are read: a key that is damaged may be no text any more."""


def stored_row(
    seq: int, campaign: int, about: int, key: str | None, event: AnyEvent, before: bytes
) -> StoredRow:
    """Return the stored form of an event that follows the record with the link `before`."""
    body = encode(event)
    check = _checksum(seq, campaign, about, None if key is None else key.encode(), body)
    return StoredRow(seq, campaign, about, key, body, check, link_after(before, check, body))


def link_after(before: bytes, check: int, body: bytes) -> bytes:
    """Return the link of a record: a digest of it and of everything before it."""
    return hashlib.blake2b(b"%d" % check + body, key=before, digest_size=LINK).digest()


def event_of(row: tuple[int, int, int, bytes | None, bytes, int, bytes]) -> AnyEvent:
    """Read a stored record, or raise `Damaged` with its number."""
    seq, campaign, about, key, body, check, _ = row
    try:
        if _checksum(seq, campaign, about, key, body) == check:
            return decode(body)
    except (msgspec.MsgspecError, struct.error, TypeError, ValueError, AttributeError):
        pass  # what is damaged may be of another type than it was
    raise Damaged("record", seq)


def seal(campaign: int, seq: int, body: bytes) -> bytes:
    """Return what a snapshot is checked by: its bytes, and whose it is as of which record."""
    return digest(b"%d %d " % (campaign, seq) + body)


def sealed(campaign: Any, seq: Any, body: Any, record: Any) -> bool:
    """Return whether a snapshot is what was stored."""
    try:
        return seal(campaign, seq, body) == record
    except TypeError:
        return False


def personal_check(seq: int, campaign: int, unit: bytes | None, context: bytes | None) -> int:
    """Return what a decision's unit and context are checked by."""
    head = zlib.crc32(_HEAD.pack(seq, campaign, len(unit or b"")))
    return zlib.crc32(context or b"", zlib.crc32(unit or b"", head))


def sound(seq: Any, campaign: Any, unit: Any, context: Any, check: Any) -> bool:
    """Return whether a decision's unit and context are what was stored, and of the same types."""
    try:
        return personal_check(seq, campaign, unit, context) == check
    except (struct.error, TypeError):
        return False


class DamagedPages(Damaged):
    """The database itself cannot be read, whatever record was meant."""

    def __init__(self, error: Exception) -> None:
        """Say what SQLite has found."""
        RequestProblem.__init__(
            self,
            f"the database is damaged ({error}): run foretell verify, "
            f"and restore the log from a backup",
        )
        self.seq = 0


def _checksum(seq: int, campaign: int, about: int, key: bytes | None, body: bytes) -> int:
    head = zlib.crc32(_HEAD.pack(seq, campaign, about))
    return zlib.crc32(body, zlib.crc32(b"" if key is None else key + b"\0", head))
