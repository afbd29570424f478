"""The bodies of answers about access: keys, and the secrets that sign decision ids."""

from __future__ import annotations

from msgspec import Struct

from foretell.protocol.fields import Scope


class KeyView(Struct):
    """A key without its secret."""

    id: str
    """What it is revoked by."""
    name: str
    """What the log calls it."""
    scopes: list[Scope]
    """What it may do; `admin` is everything."""
    created_at: str
    """When it was made."""
    campaign: str | None = None
    """The one campaign that it is for; None: all of them."""
    expires_at: str | None = None
    """From when on it is not valid; None: it stays so."""
    last_used: str | None = None
    """When it was last used, about; null: never."""
    created_by: str | None = None
    """The name of the key that made it; None: the first start, or a command on the database."""


class MadeKey(KeyView, kw_only=True):
    """A key at the only moment at which it can be read."""

    key: str
    """The key itself: keep it, nobody can read it again."""


class KeyList(Struct):
    """Every key that is valid."""

    keys: list[KeyView]
    """Each without its secret."""


class Rotated(Struct):
    """The secret that signs decision ids from now on."""

    secret: int
    """How many secrets there were before it."""
    since: str
    """From when on it signs."""


class SecretView(Struct):
    """A secret that signs decision ids, without the secret itself."""

    secret: int
    """How many secrets there were before it."""
    since: str
    """From when on it signs, or signed."""
    retired_at: str | None = None
    """From when on another one signs; None: it is the one that signs now."""
    ids_valid: bool = True
    """Whether the ids that it has signed are valid, each dated before it was retired."""


class SecretList(Struct):
    """Every secret, the first one first."""

    secrets: list[SecretView]
    """Each without the secret itself."""
