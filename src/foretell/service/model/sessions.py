"""Sessions of a browser: a signed text that stands for a key, and for nothing once it is revoked.

The text holds the id of the key, until when it is valid, and a signature made with the service's
secret and the key's digest. So nothing is stored, a restart signs nobody out, and a session ends
with its key, with its time, or when the secret is changed.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

_SESSION, _FORM = b"foretell session", b"foretell form"


class Session(NamedTuple):
    """What a session says, before anybody has checked its signature."""

    key_id: str
    until: int
    """Seconds of the wall clock from which on it is not valid."""
    text: str
    """What was signed."""
    signature: str


def new_session(secret: bytes, key_id: str, digest: bytes, until: int) -> str:
    """Return the text of a new session.

    >>> text = new_session(b"secret", "0123456789ab", b"digest", 1_800_000_000)
    >>> session = parse_session(text)
    >>> session.key_id, session.until, is_signed(session, b"secret", b"digest")
    ('0123456789ab', 1800000000, True)
    >>> is_signed(session, b"secret", b"of another key")
    False
    """
    text = f"{key_id}.{until}.{secrets.token_hex(8)}"
    return f"{text}.{_sign(secret, _SESSION + digest, text)}"


def parse_session(written: str) -> Session | None:
    """Return what a session says; None for what is none."""
    text, _, signature = written.rpartition(".")
    parts = text.split(".")
    if len(parts) != 3 or not (parts[1].isascii() and parts[1].isdigit() and len(parts[1]) < 16):
        return None
    return Session(parts[0], int(parts[1]), text, signature)


def is_signed(session: Session, secret: bytes, digest: bytes) -> bool:
    """Return whether the service has signed a session for this key."""
    expected = _sign(secret, _SESSION + digest, session.text)
    return hmac.compare_digest(expected.encode(), session.signature.encode())


def form_token(secret: bytes, session: str) -> str:
    """Return what a form of this session holds, and what no other page can know."""
    return _sign(secret, _FORM, session)


def _sign(secret: bytes, purpose: bytes, text: str) -> str:
    key = hashlib.sha256(purpose + secret).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
