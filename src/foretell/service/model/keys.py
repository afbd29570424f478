"""The keys of the service: made and revoked in the log, which holds digests of them alone."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

from foretell.errors import InvalidInput
from foretell.protocol import KeyView, Scope
from foretell.service.model.events import Author, KeyMade
from foretell.service.model.timestamps import format_timestamp

KEY_PREFIX = "ftk_"
MIN_KEY_LENGTH = 24
"""Characters that a key given by a user must have."""


def new_key() -> str:
    """Make a key that cannot be guessed."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def key_event(key: str, name: str, scopes: tuple[Scope, ...]) -> KeyMade:
    """Return the record that makes a key valid."""
    if (
        len(key) < MIN_KEY_LENGTH
        or not key.isascii()
        or any(character.isspace() for character in key)
    ):
        raise InvalidInput(
            f"a key must have at least {MIN_KEY_LENGTH} characters, ASCII and without spaces: "
            f"leave it out to have one made"
        )
    digest = _digest(key)
    return KeyMade(digest.hex()[:12], name, tuple(sorted(set(scopes))), digest)


class Caller(NamedTuple):
    """Who sent a request: a key that is valid, and what it may do."""

    author: Author
    scopes: frozenset[Scope]


class Keyring:
    """The keys that are valid."""

    def __init__(self) -> None:
        """Begin without keys."""
        self._keys: dict[bytes, KeyMade] = {}
        self._callers: dict[str, Caller] = {}
        self._made_at: dict[str, int] = {}

    def add(self, event: KeyMade, made_at: int) -> None:
        """Add a key that was made at a moment."""
        self._keys[event.digest[:8]] = event
        self._callers[event.id] = Caller(Author(event.id, event.name), frozenset(event.scopes))
        self._made_at[event.id] = made_at

    def revoke(self, key_id: str) -> None:
        """Remove a key."""
        self._keys = {prefix: event for prefix, event in self._keys.items() if event.id != key_id}

    def find(self, key_id: str) -> KeyMade | None:
        """Find a key by its id."""
        return next((event for event in self._keys.values() if event.id == key_id), None)

    def identify(self, key: str) -> Caller | None:
        """Return who sends a key; None for a key that is not valid.

        A part of the digest is looked up, and the whole is compared in constant time, so that the
        time taken says nothing about any key.
        """
        digest = _digest(key)
        event = self._keys.get(digest[:8])
        if event is None or not hmac.compare_digest(event.digest, digest):
            return None
        return self._callers[event.id]

    def views(self) -> list[KeyView]:
        """List the keys, without their secrets."""
        events = sorted(self._keys.values(), key=lambda event: self._made_at[event.id])
        return [
            KeyView(
                event.id,
                event.name,
                list(event.scopes),
                format_timestamp(self._made_at[event.id]),
            )
            for event in events
        ]

    def admins(self) -> int:
        """Count the keys that may do everything."""
        return sum("admin" in event.scopes for event in self._keys.values())


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
