"""The address of a database: which engine it is of, and how it may be shown."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_address(location: str) -> bool:
    """Return whether a location is a database of a PostgreSQL server, and no file.

    >>> is_address("postgresql://me@db.example/log"), is_address("foretell.db")
    (True, False)
    """
    return location.startswith(("postgresql://", "postgres://"))


def without_password(location: str) -> str:
    """Return a location as it may be printed and logged.

    >>> without_password("postgresql://me:secret@db.example:5432/log?sslmode=require")
    'postgresql://me@db.example:5432/log'
    >>> without_password("foretell.db")
    'foretell.db'
    """
    if not is_address(location):
        return location
    parts = urlsplit(location)
    user = parts.netloc.rpartition("@")[0].partition(":")[0]
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{f'{user}@' if user else ''}{place}{parts.path}"
