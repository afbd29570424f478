"""Where keys and secrets are kept: in a running service, or in a database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from foretell import protocol
from foretell.cli.target import admin_client, existing_database, serve_extra, target_url
from foretell.errors import InvalidInput
from foretell.service.database_address import without_password

if TYPE_CHECKING:
    from foretell.service.engine import Engine
    from foretell.service.log.protocol import LogReader

Result = TypeVar("Result")


class KeyStore(Protocol):
    """Where keys are kept: a running service, or a database."""

    def keys(self) -> list[protocol.KeyView]:
        """Return the valid keys."""

    def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        """Make a key."""

    def revoke_key(self, key_id: str) -> None:
        """Make a key invalid."""

    def rotate(self) -> protocol.Rotated:
        """Sign with a new secret."""

    def secrets(self) -> list[protocol.SecretView]:
        """Return the secrets, without themselves."""

    def retire_secret(self, number: int, *, with_ids: bool) -> protocol.SecretView:
        """Let a secret sign no more."""


@contextmanager
def key_store(url: str | None, key: str | None, db: str | None) -> Iterator[KeyStore]:
    """Open the keys of the service at an address, or of a database."""
    address = target_url(url, db)
    if address is None:
        yield _Database(existing_database(db))
        return
    with admin_client(address, key) as service:
        yield service


class _Database:
    """The database of a service: it is read as it is, and opened for a moment to change it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def keys(self) -> list[protocol.KeyView]:
        with serve_extra():
            from foretell.service.engine.access import stored_keys
        return self._read(lambda log: stored_keys(log, time.time_ns() // 1000))

    def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        return self._with_engine(lambda engine: engine.make_key(new))

    def revoke_key(self, key_id: str) -> None:
        self._with_engine(lambda engine: engine.revoke_key(key_id))

    def rotate(self) -> protocol.Rotated:
        return self._with_engine(lambda engine: engine.rotate())

    def secrets(self) -> list[protocol.SecretView]:
        with serve_extra():
            from foretell.service.engine.access import stored_secrets
        return self._read(stored_secrets)

    def retire_secret(self, number: int, *, with_ids: bool) -> protocol.SecretView:
        return self._with_engine(lambda engine: engine.retire_secret(number, with_ids=with_ids))

    def _read(self, work: Callable[[LogReader], Coroutine[Any, Any, Result]]) -> Result:
        """Read a log that has records."""
        with serve_extra():
            from foretell.service.log.open import open_reader

        with open_reader(self._path) as log:
            if not asyncio.run(log.records(0, log.head(), 1)):
                raise InvalidInput(
                    f"the database {without_password(self._path)!r} has no records, so no keys: "
                    f"start the service once, which makes the first"
                )
            return asyncio.run(work(log))

    def _with_engine(self, work: Callable[[Engine], Coroutine[Any, Any, Result]]) -> Result:
        with serve_extra():
            from foretell.service.engine import Engine

        async def opened() -> Result:
            engine = await Engine.open(self._path)
            try:
                return await work(engine)
            finally:
                await engine.close()

        self.keys()  # or say why there are none
        return asyncio.run(opened())
