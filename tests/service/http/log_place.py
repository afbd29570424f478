"""Where the log of a service is kept while a test uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foretell.service.log.memory import MemoryLog
from tests.service.log.postgres_server import QUICK, borrowed_database, give_back_database

PATIENT = QUICK | {"lease_seconds": 30.0}
"""A busy machine must not look like one that is out of contact."""


@contextmanager
def log_place(engine: str, folder: Path) -> Iterator[MemoryLog | Path | str]:
    """Lend a log in memory, the name of a file, or a database in PostgreSQL."""
    if engine == "memory":
        yield MemoryLog()
    elif engine == "sqlite":
        yield folder / "live.db"
    else:
        dsn = borrowed_database(**PATIENT)
        yield dsn
        give_back_database(dsn, **PATIENT)
