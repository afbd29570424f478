"""Who may do what: keys are looked at before anything of the body is read."""

from __future__ import annotations

from foretell import protocol
from foretell.service.http.service import Service
from foretell.service.model.errors import Forbidden, Unauthorized

CHALLENGE = b'Bearer realm="foretell"'


def admit(engine: Service, sent: bytes | None, allowed: frozenset[protocol.Scope]) -> None:
    """Let a request pass whose key has one of the allowed scopes; never name the key."""
    if sent is None:
        raise Unauthorized("no key was sent: send the header Authorization: Bearer <key>")
    scheme, _, key = sent.partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthorized("the key must be sent as Authorization: Bearer <key>")
    scopes = engine.identify(key.strip().decode("ascii")) if key.isascii() else None
    if scopes is None:
        raise Unauthorized("the key is not valid: ask for a new one")
    if scopes.isdisjoint(allowed):
        raise Forbidden(f"this needs a key with the scope {' or '.join(sorted(allowed))}")
