"""Decision ids: signed, and holding what was decided.

So feedback can go to any server that knows the secret, and nobody can forge an id. An id names
the secret that signed it, so that old ids stay valid when the secret changes. It names its moment
too: whoever finds a secret out that is retired can date no id after its retirement.
"""

from __future__ import annotations

import struct
from binascii import a2b_base64, b2a_base64
from bisect import bisect_right
from functools import partial
from hashlib import blake2b
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, NamedTuple

from foretell.service.model.events import SecretMade, SecretWithdrawn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foretell.service.model.events import Record

_FORM = struct.Struct(">BIIdQ")
LAST_SECRET = 255
"""The largest number of a secret: it is one byte of an id."""
_SIGNATURE = 17  # bytes: with the 25 before them an id is 56 characters, without padding
_FORM_SIZE = _FORM.size
_SIZE = _FORM_SIZE + _SIGNATURE
_LENGTH = _SIZE // 3 * 4
_TO_URL = bytes.maketrans(b"+/", b"-_")
_FROM_URL = bytes.maketrans(b"-_+/", b"+/!!")
"""What is not of the alphabet of URLs becomes what no decoder takes."""


class Secrets(dict[int, bytes]):
    """The secrets by their numbers, and which of them signs the id of which decision.

    A decision's id is signed by the secret that was the newest when it was made. Where the ids of
    that one are withdrawn, the next that is not withdrawn signs in its place. No other id is valid.
    """

    def __init__(self) -> None:
        """Begin without secrets."""
        super().__init__()
        self.since: list[int] = []
        """For each number, the seq from which on the secret signs."""
        self.withdrawn: set[int] = set()

    @property
    def changes(self) -> int:
        """How often a secret began or was withdrawn."""
        return len(self.since) + len(self.withdrawn)

    def take(self, record: Record) -> None:
        """Take in a record about the server: a secret may have been made or withdrawn."""
        event = record.event
        if isinstance(event, SecretMade):
            self.begin(event.id, event.secret, max(record.seq, event.begins))
        elif isinstance(event, SecretWithdrawn):
            self.withdrawn.add(event.id)

    def begin(self, secret_id: int, secret: bytes, since: int) -> None:
        """Let a new secret sign from a seq on."""
        if secret_id == len(self.since):
            self.since.append(since)
            self[secret_id] = secret

    def signer(self, number: int) -> int:
        """Return the number of the secret that signs the id of a decision; -1: there is none."""
        found = bisect_right(self.since, number) - 1
        while found in self.withdrawn:
            found += 1
        return found

    def sign(self, token: Token) -> str:
        """Return the decision id of a token: the same each time, unless its secret is withdrawn."""
        return sign_decision_id(token, signer := self.signer(token.number), self[signer])

    def read(self, text: str) -> Token | None:
        """Return what a decision id says; None for one that this service does not give."""
        secret_id, token = _read(text, self)
        return token if token is not None and self.signer(token.number) == secret_id else None


UNKNOWN_ID = (
    "copy the whole id, as the service gave it; one that was withdrawn, or was given after a copy "
    "that is restored, is not known any more"
)
"""What to do about a decision id that is not known."""


class Token(NamedTuple):
    """What a decision id says."""

    campaign: int
    action: int
    propensity: float
    number: int
    """The seq of the decision's record, which holds its time too."""


_new_token: Callable[[tuple[Any, ...]], Token] = partial(tuple.__new__, Token)
"""Makes a token without the call of its type: this is for every event."""


def sign_decision_id(token: Token, secret_id: int, secret: bytes) -> str:
    """Return the decision id of a token."""
    body = _FORM.pack(secret_id, *token)
    return _encoded(body + _signature(body, secret)).decode("ascii")


def read_decision_id(text: str, secrets: Mapping[int, bytes]) -> Token | None:
    """Return what a decision id says; None where none of the secrets signed it.

    >>> token = Token(campaign=1, action=2, propensity=0.5, number=3)
    >>> text = sign_decision_id(token, 0, b"secret")
    >>> read_decision_id(text, {0: b"secret"}) == token
    True
    >>> read_decision_id(text, {0: b"another"}) is read_decision_id("forged", {}) is None
    True
    """
    return _read(text, secrets)[1]


def _read(text: str, secrets: Mapping[int, bytes]) -> tuple[int, Token | None]:
    """Return the number of the secret that a decision id names, and what it says if that signed it.

    An id has one spelling: without padding, and in the alphabet of URLs alone.
    """
    if len(text) != _LENGTH:
        return -1, None
    try:
        content = a2b_base64(text.encode("ascii").translate(_FROM_URL), strict_mode=True)
    except ValueError:
        return -1, None
    if len(content) != _SIZE:  # it was padded
        return -1, None
    secret = secrets.get(content[0])
    body = content[:_FORM_SIZE]
    if secret is None or not compare_digest(_signature(body, secret), content[_FORM_SIZE:]):
        return -1, None
    found = _FORM.unpack(body)
    return found[0], _new_token(found[1:])


def _encoded(content: bytes) -> bytes:
    return b2a_base64(content, newline=False).translate(_TO_URL)


def _signature(body: bytes, secret: bytes) -> bytes:
    return blake2b(body, key=secret, digest_size=_SIGNATURE).digest()
