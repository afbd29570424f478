"""`foretell keys`: who may ask the service for what."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
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


class _Number(click.IntRange):
    """The number of a secret."""

    name = "number, as foretell keys secrets lists them"


@click.group()
def keys() -> None:
    """List, make and revoke keys, and change the secrets that sign decision ids.

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
    rows = [
        (
            one.id,
            one.name,
            ", ".join(one.scopes),
            one.campaign or "all",
            one.created_at,
            one.expires_at or "never",
            one.last_used or "never",
        )
        for one in listed
    ]
    columns = ("id", "name", "scopes", "campaign", "created at", "expires at", "last used")
    print_table("Keys", columns, rows, as_json=False)


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
@click.option("--campaign", help="The one campaign that it is for.  [default: all of them]")
@click.option(
    "--expires",
    metavar="TIME",
    help="When it ends: in so many days, hours or minutes (90d, 12h, 30m), or at a time as in "
    "2027-01-31T12:00:00Z.  [default: never]",
)
@target_options
@_JSON
def make_key(
    name: str,
    scopes: tuple[protocol.Scope, ...],
    campaign: str | None,
    expires: str | None,
    url: str | None,
    key: str | None,
    db: str | None,
    as_json: bool,  # noqa: FBT001  click passes it
) -> None:
    """Make a key with a NAME of your choice; it can be read this once."""
    with _key_store(url, key, db) as store:
        made = store.make_key(_new_key(name, scopes, campaign, _expiry(expires)))
    if as_json:
        _print_json(made)
        return
    until = "" if made.expires_at is None else f" It is valid until {made.expires_at}."
    click.echo(
        f"{made.key}\n\nIts id is {made.id}.{until} The key is shown only this once: keep it."
    )


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
    """Sign decision ids with a new secret, and retire the one before it; ids there are stay valid.

    Whoever has found the old secret out cannot make an id that is dated after its retirement.
    """
    with _key_store(url, key, db) as store:
        rotated = store.rotate()
    click.echo(
        f"Decision ids are signed with secret {rotated.secret} since {rotated.since}. "
        f"The ids signed before stay valid."
    )


@keys.command("secrets")
@target_options
@_JSON
def list_secrets(url: str | None, key: str | None, db: str | None, as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the secrets that sign decision ids, without the secrets themselves."""
    with _key_store(url, key, db) as store:
        listed = store.secrets()
    if as_json:
        _print_json(listed)
        return
    rows = [
        (one.secret, one.since, one.retired_at or "signs now", "yes" if one.ids_valid else "no")
        for one in listed
    ]
    print_table("Secrets", ("secret", "since", "retired at", "ids valid"), rows, as_json=False)


@keys.command("retire-secret")
@click.argument("secret", type=_Number(min=0))
@click.option(
    "--with-ids",
    is_flag=True,
    help="No id that it has signed is valid any more: feedback that names one is 404.",
)
@target_options
def retire_secret(
    secret: int,
    with_ids: bool,  # noqa: FBT001  click passes it
    url: str | None,
    key: str | None,
    db: str | None,
) -> None:
    """Retire the SECRET of this number: from now on it signs nothing, and another one does.

    The ids that it has signed stay valid, but for forged ones that are dated later. After a leak,
    add --with-ids: then nobody can use an id that it has signed, forged or not. Who needs the id
    of one of its decisions gets another by asking again with its decision_key, or from the export.
    """
    with _key_store(url, key, db) as store:
        retired = store.retire_secret(secret, with_ids=with_ids)
    ids = (
        "The ids that it signed before stay valid."
        if retired.ids_valid
        else "No id that it has signed is valid any more: the ids of its decisions are others now."
    )
    click.echo(f"Secret {secret} is retired since {retired.retired_at}. {ids}")


def _print_json(value: object) -> None:
    click.echo(json.dumps(msgspec.to_builtins(value), indent=2))


def _new_key(
    name: str, scopes: tuple[protocol.Scope, ...], campaign: str | None, expires_at: str | None
) -> protocol.NewKey:
    given = {"name": name, "scopes": scopes, "campaign": campaign, "expires_at": expires_at}
    try:
        return msgspec.convert(given, protocol.NewKey)
    except msgspec.ValidationError:
        raise InvalidInput(
            f"the name of a key, and of a campaign, has at most 100 letters, digits, '.', '_' and "
            f"'-', got {name!r}" + ("" if campaign is None else f" and {campaign!r}")
        ) from None


def _expiry(written: str | None) -> str | None:
    """Return a time from now, as in 90d, as a moment; another time as it was written."""
    span = re.fullmatch(r"(\d{1,5})([dhm])", written or "")
    if span is None:
        if written is not None and re.match(r"\d{4}-\d", written) is None:
            raise InvalidInput(
                f"--expires must be so many days, hours or minutes from now, as in 90d, 12h or "
                f"30m, or a time as in 2027-01-31T12:00:00Z, got {written!r}"
            )
        return written
    unit = {"d": "days", "h": "hours", "m": "minutes"}[span[2]]
    return (datetime.now(UTC) + timedelta(**{unit: int(span[1])})).isoformat()


class _KeyStore(Protocol):
    """Where keys are kept: a running service, or a database."""

    def keys(self) -> list[protocol.KeyView]: ...

    def make_key(self, new: protocol.NewKey) -> protocol.MadeKey: ...

    def revoke_key(self, key_id: str) -> None: ...

    def rotate(self) -> protocol.Rotated: ...

    def secrets(self) -> list[protocol.SecretView]: ...

    def retire_secret(self, number: int, *, with_ids: bool) -> protocol.SecretView: ...


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

    def secrets(self) -> list[protocol.SecretView]:
        async def work(engine: Engine) -> list[protocol.SecretView]:
            return engine.secrets()

        return self._with_engine(work)

    def retire_secret(self, number: int, *, with_ids: bool) -> protocol.SecretView:
        return self._with_engine(lambda engine: engine.retire_secret(number, with_ids=with_ids))

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
