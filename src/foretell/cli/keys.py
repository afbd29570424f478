"""`foretell keys`: who may ask the service for what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args

import click
import msgspec

from foretell import protocol
from foretell.cli.output import print_table
from foretell.cli.target import (
    admin_client,
    existing_database,
    serve_extra,
    target_options,
    target_url,
)
from foretell.errors import InvalidInput

if TYPE_CHECKING:
    from foretell.service.engine import Engine

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
Result = TypeVar("Result")


@click.group()
def keys() -> None:
    """List, make and revoke keys, and change the secret that signs decision ids.

    Give --url and --key for a running service, or --db for the database of a stopped one.
    """


@keys.command("list")
@target_options
@_JSON
def list_keys(url: str | None, key: str | None, db: str | None, as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the valid keys, without their secrets."""
    with _key_store(url, key, db) as store:
        listed = store.keys()
    if as_json:
        _print_json(listed)
        return
    rows = [(one.id, one.name, ", ".join(one.scopes), one.created_at) for one in listed]
    print_table("Keys", ("id", "name", "scopes", "created at"), rows, as_json=False)


@keys.command("make")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(get_args(protocol.Scope)),
    multiple=True,
    required=True,
    help="What it may do; can be given several times.",
)
@target_options
@_JSON
def make_key(
    name: str,
    scopes: tuple[protocol.Scope, ...],
    url: str | None,
    key: str | None,
    db: str | None,
    as_json: bool,  # noqa: FBT001  click passes it
) -> None:
    """Make a key with a NAME of your choice; it can be read this once."""
    with _key_store(url, key, db) as store:
        made = store.make_key(_new_key(name, scopes))
    if as_json:
        _print_json(made)
    else:
        click.echo(f"{made.key}\n\nIts id is {made.id}. The key is shown only this once: keep it.")


@keys.command("revoke")
@click.argument("id")
@target_options
def revoke_key(id: str, url: str | None, key: str | None, db: str | None) -> None:  # noqa: A002  its name in the help
    """Make the key with this ID invalid, from now on."""
    with _key_store(url, key, db) as store:
        store.revoke_key(id)
    click.echo(f"The key {id} is not valid any more.")


@keys.command("rotate")
@target_options
def rotate_secret(url: str | None, key: str | None, db: str | None) -> None:
    """Sign decision ids with a new secret; keys and the ids there are stay valid."""
    with _key_store(url, key, db) as store:
        rotated = store.rotate()
    click.echo(f"Decision ids are signed with secret {rotated.secret} since {rotated.since}.")


def _print_json(value: object) -> None:
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2))


def _new_key(name: str, scopes: tuple[protocol.Scope, ...]) -> protocol.NewKey:
    try:
        return msgspec.convert({"name": name, "scopes": scopes}, protocol.NewKey)
    except msgspec.ValidationError:
        raise InvalidInput(
            f"the name of a key has at most 100 letters, digits, '.', '_' and '-', got {name!r}"
        ) from None


class _KeyStore(Protocol):
    """Where keys are kept: a running service, or a database."""

    def keys(self) -> list[protocol.KeyView]: ...

    def make_key(self, new: protocol.NewKey) -> protocol.MadeKey: ...

    def revoke_key(self, key_id: str) -> None: ...

    def rotate(self) -> protocol.Rotated: ...


@contextmanager
def _key_store(url: str | None, key: str | None, db: str | None) -> Iterator[_KeyStore]:
    address = target_url(url, db)
    if address is None:
        yield _Database(existing_database(db))
        return
    with admin_client(address, key) as service:
        yield service


class _Database:
    """The database of a service that is stopped: its engine is opened for a moment."""

    def __init__(self, path: str) -> None:
        self._path = path

    def keys(self) -> list[protocol.KeyView]:
        async def work(engine: Engine) -> list[protocol.KeyView]:
            return engine.keys()

        return self._with_engine(work)

    def make_key(self, new: protocol.NewKey) -> protocol.MadeKey:
        return self._with_engine(lambda engine: engine.make_key(new))

    def revoke_key(self, key_id: str) -> None:
        self._with_engine(lambda engine: engine.revoke_key(key_id))

    def rotate(self) -> protocol.Rotated:
        return self._with_engine(lambda engine: engine.rotate())

    def _with_engine(self, work: Callable[[Engine], Coroutine[Any, Any, Result]]) -> Result:
        with serve_extra():
            from foretell.service.engine import Engine
            from foretell.service.log.open import open_reader

        async def opened() -> Result:
            engine = await Engine.open(self._path)
            try:
                return await work(engine)
            finally:
                await engine.close()

        with open_reader(self._path) as log:
            if not asyncio.run(log.records(0, log.head(), 1)):
                raise InvalidInput(
                    f"the database {self._path!r} has no records, so no keys: "
                    f"start the service once, which makes the first"
                )
        return asyncio.run(opened())
