"""A real PostgreSQL for the tests: one server for a whole run, a database for each test.

The first process that needs it starts it, whichever worker that is, and a guard stops it when the
run has ended, however that ends. `FORETELL_TEST_POSTGRES` names a server to use instead, by the
address of a database whose user may make others.
"""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg

from foretell.service.log.postgres.connection import connect, prepare
from foretell.service.log.postgres.copies import TABLES
from foretell.service.log.postgres.settings import write_settings

TEMPORARY = Path(tempfile.gettempdir())
"""Where the server lives, whatever folder a test sets: the name of a socket must be short."""
STARTED = "started"
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "200",
    "autovacuum": "off",
}
QUICK: dict[str, str | float] = {"poll_seconds": 0.005, "beat_seconds": 0.02, "lease_seconds": 2.0}
"""Deciders that look at each other often, so that tests need not wait."""
_numbers = itertools.count()


def binary(name: str) -> str:
    """Find a program of PostgreSQL: on the PATH, or where Debian keeps it."""
    places = [
        *Path("/usr/lib/postgresql").glob("*/bin"),
        *Path("/usr").glob("pgsql-*/bin"),
        Path("/usr/sbin"),
    ]
    found = shutil.which(name) or next(
        (str(place / name) for place in sorted(places, reverse=True) if (place / name).exists()),
        None,
    )
    assert found is not None, f"the tests need PostgreSQL, and there is no {name}: make postgres"
    return found


def server_user() -> str | None:
    """Return as whom a server runs: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


def run_as_server(*command: str, folder: Path) -> subprocess.Popen[bytes]:
    """Start a program of PostgreSQL as the user that may run it."""
    user = server_user()
    more: dict[str, Any] = {} if user is None else {"user": user, "extra_groups": []}
    with (folder / "server.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **more)


class PostgresServer:
    """A server in a folder, reached by its socket there."""

    def __init__(self, folder: Path, segment_megabytes: int = 1, **settings: str) -> None:
        self.folder = folder
        self.segment_megabytes = segment_megabytes
        self.data = folder / "data"
        self.settings = SETTINGS | settings
        self.process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Make the files of a server."""
        self.folder.mkdir(parents=True, exist_ok=True)
        user = server_user()
        if user is not None:
            shutil.chown(self.folder, user)
        made = run_as_server(
            *(binary("initdb"), "-D", str(self.data), "-U", "postgres", "--auth=trust"),
            *("--no-sync", "-E", "UTF8", "--locale=C"),
            f"--wal-segsize={self.segment_megabytes}",
            folder=self.folder,
        )
        assert made.wait(60) == 0, (self.folder / "server.log").read_text()

    def make_standby(self, primary: PostgresServer) -> None:
        """Make the files of a standby that follows another server."""
        self.folder.mkdir(parents=True, exist_ok=True)
        user = server_user()
        if user is not None:
            shutil.chown(self.folder, user)
        made = run_as_server(
            *(binary("pg_basebackup"), "-D", str(self.data), "-h", str(primary.folder)),
            *("-U", "postgres", "--checkpoint=fast", "--no-sync", "--write-recovery-conf"),
            folder=self.folder,
        )
        assert made.wait(120) == 0, (self.folder / "server.log").read_text()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = [
            word for name, value in self.settings.items() for word in ("-c", f"{name}={value}")
        ]
        self.process = run_as_server(
            *(binary("postgres"), "-D", str(self.data), "-k", str(self.folder), *options),
            folder=self.folder,
        )
        wait_until(lambda: asyncio.run(answers(self.dsn())))

    def stop(self, with_signal: int = signal.SIGINT) -> None:
        """Stop it: SIGINT cuts its connections, SIGQUIT is a crash."""
        if self.process is not None:
            self.process.send_signal(with_signal)
            self.process.wait(30)
            self.process = None

    def dsn(self, database: str = "postgres") -> str:
        """Return the address of a database."""
        return f"postgresql:///{database}?host={self.folder}&user=postgres"


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


async def answers(dsn: str) -> bool:
    """Return whether a server answers."""
    try:
        connection = await asyncpg.connect(dsn, timeout=5)
    except (OSError, asyncpg.PostgresError, TimeoutError):
        return False
    await connection.close()
    return True


@cache
def shared_dsn() -> str:
    """Return the address of the server of this run, which is started if it is not running yet."""
    given = os.environ.get("FORETELL_TEST_POSTGRES")
    if given:
        return given
    run = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    folder = TEMPORARY / f"foretell-pg-{run}"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / STARTED).exists():
            with subprocess.Popen(
                [sys.executable, "-m", "tests.service.log.postgres_server", str(folder), str(run)],
                cwd=Path(__file__).parents[3],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            ) as guard:
                wait_until((folder / STARTED).exists)
                guard.returncode = 0  # it outlives this process, and nobody waits for it
    return PostgresServer(folder).dsn()


def guard(folder: Path, run: int) -> None:
    """Run a server until a process has ended, and leave nothing."""
    server = PostgresServer(folder)
    try:
        server.make()
        server.start()
        (folder / STARTED).touch()
        while Path(f"/proc/{run}").exists():
            time.sleep(0.2)
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def at_database(dsn: str, database: str) -> str:
    """Return the address of another database of the same server."""
    parts = urlsplit(dsn)
    return f"{parts.scheme}://{parts.netloc}/{database}?{parts.query}"


def made_database(**settings: str | float) -> str:
    """Make a database with an empty log that has these settings; return its address."""
    return asyncio.run(_made_database(settings))


async def _made_database(settings: dict[str, str | float]) -> str:
    names = "".join(f"_{name[:2]}{value}" for name, value in sorted(settings.items()))
    template = f"foretell_template_{os.getpid()}{names}".replace(".", "p").lower()[:63]
    name = f"foretell_{os.getpid()}_{next(_numbers)}"
    connection = await asyncpg.connect(shared_dsn())
    try:
        known = await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = $1", template)
        if known is None:
            await connection.execute(f"CREATE DATABASE {template}")
            await _prepare_template(at_database(shared_dsn(), template), settings)
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
    finally:
        await connection.close()
    return at_database(shared_dsn(), name)


_free: dict[str, list[str]] = {}
"""Databases with an empty log, by their settings."""


def borrowed_database(**settings: str | float) -> str:
    """Return the address of a database with an empty log, to be given back."""
    free = _free.setdefault(repr(settings), [])
    return free.pop() if free else made_database(**settings)


def give_back_database(dsn: str, **settings: str | float) -> None:
    """Empty a database, which is quicker than to make another."""
    asyncio.run(_emptied(dsn))
    _free[repr(settings)].append(dsn)


async def _emptied(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await connection.execute(
            "".join(f"DELETE FROM foretell.{table};" for table in (*TABLES, "live_states"))  # noqa: S608  (our own)
            + "DELETE FROM foretell.meta WHERE name IN ('time_scale', 'time_origin')"
        )
    finally:
        await connection.close()


async def _prepare_template(dsn: str, settings: dict[str, str | float]) -> None:
    connection = await connect(dsn)
    try:
        await prepare(connection, dsn)
        await write_settings(connection, **settings)
    finally:
        await connection.close()


def drop_database(dsn: str) -> None:
    """Remove a database, and cut whoever is connected to it."""

    async def drop() -> None:
        connection = await asyncpg.connect(shared_dsn())
        try:
            name = urlsplit(dsn).path.lstrip("/")
            await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        finally:
            await connection.close()

    asyncio.run(drop())


if __name__ == "__main__":
    guard(Path(sys.argv[1]), int(sys.argv[2]))
