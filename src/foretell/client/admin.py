"""What an operator asks of a running service: its keys, a backup, a restore."""

from __future__ import annotations

from types import NoneType
from typing import IO
from urllib.parse import quote

from foretell.client.address import ServiceAddress
from foretell.client.calls import ApiCall, Body, json_body, read
from foretell.client.errors import ServiceUnavailable
from foretell.client.transport import SyncTransport
from foretell.protocol import (
    KeyList,
    KeyView,
    MadeKey,
    NewKey,
    Restored,
    Rotated,
    SecretList,
    SecretView,
)
from foretell.protocol.fields import SQLITE_MEDIA_TYPE

ADMIN_TIMEOUT = 60.0
"""Seconds that a request may take; a backup and a restore may take so many without a byte."""
SQLITE_HEADER = b"SQLite format 3\0"
"""How every database begins."""


class AdminClient:
    """Asks a running service what only an admin key may ask; nothing is tried twice."""

    def __init__(self, url: str, key: str | None) -> None:
        """Check the address and the key; nothing is sent yet."""
        self._transport = SyncTransport(ServiceAddress.of(url, key))

    def keys(self) -> list[KeyView]:
        """Return the valid keys, without their secrets."""
        return self._ask(ApiCall("GET", "/v1/keys"), KeyList).keys

    def make_key(self, new: NewKey) -> MadeKey:
        """Make a key, and return it with its secret."""
        return self._ask(ApiCall("POST", "/v1/keys", json_body(new)), MadeKey)

    def revoke_key(self, key_id: str) -> None:
        """Make a key invalid."""
        self._ask(ApiCall("DELETE", f"/v1/keys/{quote(key_id, safe='')}"), NoneType)

    def rotate(self) -> Rotated:
        """Sign decision ids with a new secret from now on."""
        return self._ask(ApiCall("POST", "/v1/secrets"), Rotated)

    def secrets(self) -> list[SecretView]:
        """Return the secrets that sign decision ids, without the secrets themselves."""
        return self._ask(ApiCall("GET", "/v1/secrets"), SecretList).secrets

    def retire_secret(self, number: int, *, with_ids: bool) -> SecretView:
        """Let a secret sign no more; `with_ids`: and let no id be valid that it has signed."""
        query = "?with_ids=true" if with_ids else ""
        return self._ask(ApiCall("DELETE", f"/v1/secrets/{number}{query}"), SecretView)

    def backup(self, file: IO[bytes]) -> None:
        """Write a copy of the database to a file, part by part."""
        call = ApiCall("GET", "/v1/backup", headers={"Accept": SQLITE_MEDIA_TYPE})
        with self._transport.stream(call, ADMIN_TIMEOUT) as reply:
            if reply.status != 200:
                read(reply.read(), NoneType)
            no_database = ServiceUnavailable("the service answered with no database", reply.status)
            if reply.content_type != SQLITE_MEDIA_TYPE or not reply.has_length:
                raise no_database
            begins = b""
            for part in reply.parts():
                begins = (begins + part)[: len(SQLITE_HEADER)]
                if not SQLITE_HEADER.startswith(begins):
                    raise no_database
                file.write(part)
            if begins != SQLITE_HEADER:
                raise no_database

    def restore(self, file: IO[bytes]) -> str:
        """Put a copy in place of the database; return the head of its log."""
        call = ApiCall("POST", "/v1/restore", file, {"Content-Type": SQLITE_MEDIA_TYPE})
        with self._transport.stream(call, ADMIN_TIMEOUT) as reply:
            return read(reply.read(), Restored).head

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def _ask(self, call: ApiCall, kind: type[Body]) -> Body:
        return read(self._transport.send(call, ADMIN_TIMEOUT), kind)
