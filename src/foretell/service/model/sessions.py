"""Sessions of a browser: a key, sealed so that only the service can open it, and for a time.

Nothing is stored, so a restart signs nobody out; and since the key itself is inside, a session ends
when its key is revoked or expires, and whoever has read the database, which holds digests of keys
alone, can make none. It also ends when the service's secret is changed.

The seal is encryption in counter mode with HMAC-SHA256 as the cipher, then a MAC over all of it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import NamedTuple

_NONCE, _TAG, _BLOCK = 16, 32, 32
"""Bytes of the parts of a session, and of one block of the cipher."""


class Session(NamedTuple):
    """What a sealed session holds."""

    until: int
    """Seconds of the wall clock from which on it is not valid."""
    key: str


def seal_session(secret: bytes, session: Session) -> str:
    """Return a session as a text for a cookie.

    >>> sealed = seal_session(b"secret", Session(1_800_000_000, "ftk_a-key"))
    >>> open_session(b"secret", sealed)
    Session(until=1800000000, key='ftk_a-key')
    >>> open_session(b"another", sealed), open_session(b"secret", "nonsense"), "ftk" in sealed
    (None, None, False)
    """
    nonce = secrets.token_bytes(_NONCE)
    plain = f"{session.until}:{session.key}".encode()
    boxed = nonce + _crypt(secret, nonce, plain)
    return base64.urlsafe_b64encode(boxed + _mac(secret, b"session", boxed)).rstrip(b"=").decode()


def open_session(secret: bytes, sealed: str) -> Session | None:
    """Return what a session holds; None for one that this service has not sealed."""
    try:
        whole = base64.urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
    except (binascii.Error, UnicodeEncodeError):
        return None
    boxed, tag = whole[:-_TAG], whole[-_TAG:]
    if len(boxed) <= _NONCE or not hmac.compare_digest(_mac(secret, b"session", boxed), tag):
        return None
    plain = _crypt(secret, boxed[:_NONCE], boxed[_NONCE:]).decode()
    until, _, key = plain.partition(":")
    return Session(int(until), key)


def form_token(secret: bytes, sealed: str) -> str:
    """Return what a form of this session holds, and what no other page can know."""
    return _mac(secret, b"form", sealed.encode()).hex()


def _mac(secret: bytes, purpose: bytes, text: bytes) -> bytes:
    return hmac.digest(hashlib.sha256(b"foretell " + purpose + secret).digest(), text, "sha256")


def _crypt(secret: bytes, nonce: bytes, text: bytes) -> bytes:
    """Encrypt a text, or decrypt it: the same stream of bytes is taken exclusive or."""
    blocks = range(-(-len(text) // _BLOCK))
    stream = b"".join(_mac(secret, b"cipher", nonce + bytes([block])) for block in blocks)
    return bytes(one ^ other for one, other in zip(text, stream, strict=False))
