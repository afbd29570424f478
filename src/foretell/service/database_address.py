"""The address of a database: which engine it is of, and how it may be shown."""

from __future__ import annotations

import re

from foretell.errors import InvalidInput

FORM = "write postgresql://user:password@host:port/database"
"""What an address is like, for who has got it wrong."""
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)


def is_address(location: str) -> bool:
    """Return whether a location is a database of a PostgreSQL server, and no file.

    Raises `InvalidInput` for the address of anything else.

    >>> is_address("postgresql://me@db.example/log"), is_address("foretell.db")
    (True, False)
    """
    scheme = _SCHEME.match(location)
    if scheme is None:
        return False
    if scheme[1].lower() not in ("postgresql", "postgres"):
        raise InvalidInput(
            f"a log is in a file or in PostgreSQL, got an address that begins with {scheme[0]}: "
            f"{FORM}, or the name of a file"
        )
    return True


def without_password(location: str) -> str:
    """Return a location as it may be printed and logged; of what cannot be read only its start.

    >>> without_password("postgresql://me:secret@db.example:5432/log?sslmode=require")
    'postgresql://me@db.example:5432/log'
    >>> without_password("postgresql://me:sec/ret@db.example/log")
    'postgresql://…'
    >>> without_password("postgresql://me:secret:5432/log")
    'postgresql://…'
    >>> without_password("postgresql://one:5432,[::1]:5433/log")
    'postgresql://one:5432,[::1]:5433/log'
    >>> without_password("foretell.db")
    'foretell.db'
    """
    scheme = _SCHEME.match(location)
    if scheme is None:
        return location
    rest = location[scheme.end() :]
    place = re.split("[/?#]", rest, maxsplit=1)[0]
    path = re.split("[?#]", rest[len(place) :], maxsplit=1)[0]
    colons = re.sub(r"\[.*?\]", "", place).count(":")
    if "@" in rest[len(place) :] or ("@" not in place and colons > place.count(",") + 1):
        return f"{scheme[0]}…"  # a password may be cut in two, or stand where a host should
    user = place.rpartition("@")[0].partition(":")[0]
    return f"{scheme[0]}{f'{user}@' if user else ''}{place.rpartition('@')[2]}{path}"
