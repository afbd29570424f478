"""The keys of the service: made and revoked in the log, which holds digests of them alone."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import NamedTuple

from foretell.errors import InvalidInput
from foretell.protocol import KeyView, Scope
from foretell.service.model.events import Author, KeyMade, KeyRevoked, Record
from foretell.service.model.timestamps import format_timestamp

KEY_PREFIX = "ftk_"
MIN_KEY_LENGTH = 24
"""Characters that a key given by a user must have."""


def new_key() -> str:
    """Make a key that cannot be guessed."""
    return KEY_PREFIX + secrets.token_urlsafe(32)


def check_key(key: str, what: str = "a key") -> None:
    """Refuse what can be no key."""
    if (
        len(key) < MIN_KEY_LENGTH
        or not key.isascii()
        or any(character.isspace() for character in key)
    ):
        raise InvalidInput(
            f"{what} must have at least {MIN_KEY_LENGTH} characters, ASCII and without spaces: "
            f"leave it out to have one made"
        )


def key_event(
    key: str,
    name: str,
    scopes: tuple[Scope, ...],
    campaign: str | None = None,
    expires: int | None = None,
    by: Author | None = None,
) -> KeyMade:
    """Return the record that makes a key valid."""
    check_key(key)
    digest, given = _digest(key), tuple(sorted(set(scopes)))
    return KeyMade(digest.hex()[:12], name, given, digest, campaign, expires, by)


def is_lasting_admin(event: KeyMade) -> bool:
    """Return whether a key may do everything, everywhere and for ever."""
    return "admin" in event.scopes and event.campaign is None and event.expires is None


class Caller(NamedTuple):
    """Who sent a request: a key that is valid, and what it may do."""

    author: Author
    scopes: frozenset[Scope]
    campaign: str | None = None
    """The one campaign that it is for; None: all of them."""
    expires: int | None = None
    """The moment from which on it is not valid."""

    def may_use(self, campaign: str) -> bool:
        """Return whether a campaign is one that the key is for."""
        return self.campaign is None or self.campaign == campaign


class _Held(NamedTuple):
    """A key that was made and not revoked."""

    event: KeyMade
    made_at: int
    caller: Caller


class Keyring:
    """The keys that are valid."""

    def __init__(self) -> None:
        """Begin without keys."""
        self._keys: dict[bytes, _Held] = {}
        """By the beginning of its digest."""
        self._by_id: dict[str, _Held] = {}
        self._used: set[str] = set()
        """Keys that were used since somebody looked at the clock."""
        self.last_used: dict[str, int] = {}
        """For each key, the moment of its last use."""
        self.unwritten: set[str] = set()
        """Keys whose last use the log does not know yet."""

    def take(self, record: Record) -> None:
        """Take in a record about the server: a key may have been made or revoked."""
        if isinstance(record.event, KeyMade):
            self.add(record.event, record.recorded_at)
        elif isinstance(record.event, KeyRevoked):
            self.revoke(record.event.id)

    def add(self, event: KeyMade, made_at: int) -> None:
        """Add a key that was made at a moment."""
        author, scopes = Author(event.id, event.name), frozenset(event.scopes)
        caller = Caller(author, scopes, event.campaign, event.expires)
        held = _Held(event, made_at, caller)
        self._keys[event.digest[:8]] = self._by_id[event.id] = held

    def revoke(self, key_id: str) -> None:
        """Remove a key."""
        self._by_id.pop(key_id, None)
        self._keys = {
            prefix: held for prefix, held in self._keys.items() if held.event.id != key_id
        }

    def find(self, key_id: str) -> KeyMade | None:
        """Find a key by its id."""
        held = self._by_id.get(key_id)
        return None if held is None else held.event

    def caller(self, key_id: str) -> Caller | None:
        """Return who uses a key that was shown before, and note its use; None if it is revoked."""
        held = self._by_id.get(key_id)
        if held is None:
            return None
        self._used.add(key_id)
        return held.caller

    def identify(self, key: str) -> Caller | None:
        """Return who sends a key, which may have expired; None for one that was not made.

        A part of the digest is looked up, and the whole is compared in constant time, so that the
        time taken says nothing about any key.
        """
        digest = _digest(key)
        held = self._keys.get(digest[:8])
        if held is None or not hmac.compare_digest(held.event.digest, digest):
            return None
        self._used.add(held.event.id)
        return held.caller

    def note_uses(self, now: int) -> None:
        """Take a moment as that of all uses since the last call: a request looks at no clock."""
        self.last_used.update(dict.fromkeys(self._used, now))
        self.unwritten |= self._used
        self._used.clear()

    def views(self, now: int) -> list[KeyView]:
        """List the keys that are valid at a moment, without their secrets."""
        self.note_uses(now)
        held = sorted(self._keys.values(), key=lambda one: one.made_at)
        return [
            self.view(one.event, one.made_at)
            for one in held
            if one.event.expires is None or now < one.event.expires
        ]

    def view(self, event: KeyMade, made_at: int) -> KeyView:
        """Return a key without its secret."""
        return KeyView(
            event.id,
            event.name,
            list(event.scopes),
            format_timestamp(made_at),
            event.campaign,
            _moment_text(event.expires),
            _moment_text(self.last_used.get(event.id)),
            None if event.by is None else event.by.name,
        )

    def admins(self) -> int:
        """Count the keys that may do everything, everywhere and for ever."""
        return sum(is_lasting_admin(held.event) for held in self._keys.values())


def _moment_text(moment: int | None) -> str | None:
    return None if moment is None else format_timestamp(moment)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
