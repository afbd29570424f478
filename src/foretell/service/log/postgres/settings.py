"""The settings of a log, each a row with a checksum: the same for every decider."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from foretell.service.log.errors import Damaged
from foretell.service.log.record import row_checksum


class StreamTiming(NamedTuple):
    """How often deciders look at each other, in seconds."""

    poll_seconds: float = 0.05
    """Between two looks at what the others have written."""
    beat_seconds: float = 0.1
    """After which a stream without records says that it is alive."""
    lease_seconds: float = 3.0
    """After which a stream that has not moved is sealed."""
    lag_seconds: float = 5.0
    """After which a record that is in no published state lets the next decider fold too."""


def timing_of(settings: dict[str, Any]) -> StreamTiming:
    """Return the timing of a log, as it is set or else the default."""
    return StreamTiming(
        **{name: settings[name] for name in StreamTiming._fields if name in settings}
    )


async def read_settings(connection: Any) -> dict[str, Any]:
    """Return all settings, or raise `Damaged`."""
    settings: dict[str, Any] = {}
    for name, value, checksum in await connection.fetch(
        "SELECT name, value, checksum FROM foretell.meta"
    ):
        if row_checksum(name, value) != checksum:
            raise Damaged(f"the setting {name!r}")
        settings[name] = msgspec.json.decode(value)
    return settings


async def write_settings(connection: Any, **settings: str | float) -> None:
    """Store settings, in place of those before."""
    for name, setting in settings.items():
        value = msgspec.json.encode(setting).decode()
        await connection.execute(
            "INSERT INTO foretell.meta VALUES ($1, $2, $3) "
            "ON CONFLICT (name) DO UPDATE SET value = $2, checksum = $3",
            name,
            value,
            row_checksum(name, value),
        )
