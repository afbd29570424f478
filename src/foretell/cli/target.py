"""Which service a command is about: one that runs, at an address, or a database file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from foretell.errors import InvalidInput
from foretell.service.settings import Settings

_DB = click.option(
    "--db", metavar="FILE", help=f"The database.  [FORETELL_DB; default: {Settings().db}]"
)
_URL = click.option("--url", help="The address of a running service.  [FORETELL_URL]")
_KEY = click.option(
    "--key",
    envvar="FORETELL_ADMIN_KEY",
    help="An admin key of that service.  [FORETELL_ADMIN_KEY]",
)


def db_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take a database."""
    return _DB(command)


def place_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take an address and a key, or a database."""
    return _URL(_KEY(_DB(command)))


def address(url: str | None, db: str | None) -> str | None:
    """Return the address that is meant; None: a database is. Flags go before the environment."""
    if url and db:
        raise InvalidInput("--url and --db are two services: name one")
    return None if db else url or os.environ.get("FORETELL_URL") or None


def database(db: str | None) -> str:
    """Return the name of the database that is meant."""
    return db or os.environ.get("FORETELL_DB") or Settings().db


def existing_database(db: str | None) -> str:
    """Return the same, if it is there."""
    path = database(db)
    if not Path(path).is_file():
        raise InvalidInput(f"there is no database {path!r}: name one with --db")
    return path
