"""`foretell keys rotate`, `secrets` and `retire-secret`: what signs decision ids."""

from __future__ import annotations

import click

from foretell.cli.key_store import key_store
from foretell.cli.output import JSON_OPTION, print_json, print_table
from foretell.cli.target import target_options


class _Number(click.IntRange):
    """The number of a secret."""

    name = "number, as foretell keys secrets lists them"


@click.command("rotate")
@target_options
def rotate_secret(url: str | None, key: str | None, db: str | None) -> None:
    """Sign decision ids with a new secret, and retire the one before it; ids there are stay valid.

    Whoever has found the old secret out cannot make an id that is dated after its retirement.
    """
    with key_store(url, key, db) as store:
        rotated = store.rotate()
    click.echo(
        f"Decision ids are signed with secret {rotated.secret} since {rotated.since}. "
        f"The ids signed before stay valid."
    )


@click.command("secrets")
@target_options
@JSON_OPTION
def list_secrets(url: str | None, key: str | None, db: str | None, as_json: bool) -> None:  # noqa: FBT001  click passes it
    """List the secrets that sign decision ids, without the secrets themselves."""
    with key_store(url, key, db) as store:
        listed = store.secrets()
    if as_json:
        print_json(listed)
        return
    rows = [
        (one.secret, one.since, one.retired_at or "signs now", "yes" if one.ids_valid else "no")
        for one in listed
    ]
    print_table("Secrets", ("secret", "since", "retired at", "ids valid"), rows, as_json=False)


@click.command("retire-secret")
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
    with key_store(url, key, db) as store:
        retired = store.retire_secret(secret, with_ids=with_ids)
    ids = (
        "The ids that it signed before stay valid."
        if retired.ids_valid
        else "No id that it has signed is valid any more: the ids of its decisions are others now."
    )
    click.echo(f"Secret {secret} is retired since {retired.retired_at}. {ids}")
