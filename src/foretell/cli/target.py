"""Which service a command is about: one that runs, at an address, or a database file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretell.errors import ForetellError, InvalidInput, MissingExtra
from foretell.service.database_address import is_address
from foretell.service.settings import Settings

if TYPE_CHECKING:
    from foretell.client.admin import AdminClient

_DB = click.option(
    "--db",
    metavar="DATABASE",
    help=f"A file, or an address of PostgreSQL.  [FORETELL_DB; default: {Settings().db}]",
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


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take an address and a key, or a database."""
    return _URL(_KEY(_DB(command)))


def service_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command take an address and a key."""
    return _URL(_KEY(command))


def service_url(url: str | None) -> str:
    """Return the address of the running service that the command needs."""
    found = url or os.environ.get("FORETELL_URL")
    if not found:
        raise InvalidInput("this needs a running service, got none: name one with --url")
    return found


def target_url(url: str | None, db: str | None) -> str | None:
    """Return the service's address, or None for a database; flags win over the environment."""
    if url and db:
        raise InvalidInput("--url and --db are two services: name one")
    return None if db else url or os.environ.get("FORETELL_URL") or None


def database(db: str | None) -> str:
    """Return the path of the database that the command is about."""
    return db or os.environ.get("FORETELL_DB") or Settings().db


def existing_database(db: str | None, advice: str = "name one with --db") -> str:
    """Return the path of the database, which must exist."""
    path = database(db)
    if not is_address(path) and not Path(path).is_file():
        raise InvalidInput(f"there is no database {path!r}: {advice}")
    return path


@contextmanager
def admin_client(url: str, key: str | None) -> Iterator[AdminClient]:
    """Connect to a running service; a refusal or a failure becomes one sentence."""
    from foretell.client.admin import AdminClient

    if not key:
        raise InvalidInput("a running service wants an admin key: give it with --key")
    with closing(AdminClient(url, key)) as client, service_errors(url):
        yield client


@contextmanager
def service_errors(url: str) -> Iterator[None]:
    """Say in one sentence what a service refuses, or that it gives no answer."""
    from foretell.client.errors import ServiceRefused, ServiceUnavailable

    try:
        yield
    except (ServiceRefused, ServiceUnavailable) as error:
        if error.detail:
            said = f"says: {_printable(error.detail)}"
        elif isinstance(error, ServiceRefused):
            said = f"says: {_printable(str(error))}"
        else:
            said = (
                f"gives no usable answer ({_printable(str(error))}): check the address, and that "
                f"the service is running"
            )
        raise ForetellError(f"{url} {said}") from error


def _printable(words: str) -> str:
    """Return text of another program without what would control a terminal."""
    return words if words.isprintable() else repr(words)


@contextmanager
def serve_extra() -> Iterator[None]:
    """Import what the service needs, or say how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "foretell":
            raise
        raise MissingExtra(
            f"this command needs {error.name}, which is not installed: "
            f"install it with pip install 'foretell[serve]'"
        ) from error
