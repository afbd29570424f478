"""`foretell keys`: who may ask the service for what."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import get_args

import click
import msgspec

from foretell import protocol
from foretell.cli.key_store import key_store
from foretell.cli.output import JSON_OPTION, print_json, print_table
from foretell.cli.secrets import list_secrets, retire_secret, rotate_secret
from foretell.cli.target import target_options
from foretell.errors import InvalidInput


@click.group()
def keys() -> None:
    """List, make and revoke keys, and change the secrets that sign decision ids.

    Give --url and --key for a running service, or --db for the database of a stopped one; what is
    only listed is read from a database that a service uses, too.
    """


for _command in (rotate_secret, list_secrets, retire_secret):
    keys.add_command(_command)


@keys.command("list")
@target_options
@JSON_OPTION
def list_keys(url: str | None, key: str | None, db: str | None, as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the valid keys, without their secrets."""
    with key_store(url, key, db) as store:
        listed = store.keys()
    if as_json:
        print_json(listed)
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
@JSON_OPTION
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
    with key_store(url, key, db) as store:
        made = store.make_key(_new_key(name, scopes, campaign, _expiry(expires)))
    if as_json:
        print_json(made)
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
    with key_store(url, key, db) as store:
        store.revoke_key(id)
    click.echo(f"The key {id} is not valid any more.")


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
