"""A PostgreSQL of the benchmarks' own, with its usual settings: commits wait for the disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.live_server import cpu_of
from tests.service.log.postgres_server import PostgresServer

SEGMENT_MEGABYTES = 16
"""The usual size of a segment: with smaller ones checkpoints come as much more often."""


class PostgresProcess(NamedTuple):
    """A running PostgreSQL."""

    dsn: str
    pid: int

    def cpu(self) -> float:
        """Return the CPU seconds of all its processes, those that have ended included."""
        ticks = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[11:15]
        own = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return own + sum(map(cpu_of, map(int, children)))


@contextmanager
def postgres_process() -> Iterator[PostgresProcess]:
    """Run a PostgreSQL until it is not needed any more."""
    settings = {"fsync": "on", "full_page_writes": "on", "autovacuum": "on"}
    with tempfile.TemporaryDirectory(prefix="foretell-bench-") as folder:
        Path(folder).chmod(0o755)
        server = PostgresServer(
            Path(folder, "pg"), SEGMENT_MEGABYTES, **settings, shared_buffers="256MB"
        )
        server.make()
        server.start()
        assert server.process is not None
        try:
            yield PostgresProcess(server.dsn(), server.process.pid)
        finally:
            server.stop()
