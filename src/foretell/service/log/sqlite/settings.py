"""The settings of a database, next to its records: each has a checksum, like all that is stored."""

from __future__ import annotations

from typing import Any

import apsw

from foretell.service.log.errors import Damaged
from foretell.service.log.record import row_checksum


def read_settings(connection: apsw.Connection) -> dict[str, Any]:
    """Return all settings, or raise `Damaged`: one whose name is damaged is not another's lack."""
    settings: dict[str, Any] = {}
    try:
        rows = connection.execute("SELECT name, value, checksum FROM meta").fetchall()
    except UnicodeDecodeError:
        raise Damaged("one of the settings") from None
    for name, value, checksum in rows:
        if not isinstance(name, str) or row_checksum(name, value) != checksum:
            raise Damaged(f"the setting {name!r}")
        settings[name] = value
    return settings


def write_settings(connection: apsw.Connection, **settings: str | float) -> None:
    """Store settings, in place of those before."""
    for name, value in settings.items():
        connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", (name, value, row_checksum(name, value))
        )
