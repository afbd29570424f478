"""One connection to the server: how it is opened, prepared, or refused in a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg

from foretell.errors import ForetellError, InvalidInput
from foretell.service.database_address import FORM
from foretell.service.database_address import without_password as shown
from foretell.service.log.errors import DatabaseFailed, DatabaseRefused, LogClosed
from foretell.service.log.postgres.settings import read_settings, write_settings

MIGRATIONS: Final = tuple(
    Path(__file__).with_name(name).read_text("utf-8")
    for name in (
        *("schema.sql", "partitions.sql", "live_states.sql", "version_4.sql"),
        *("keys.sql", "append.sql"),
    )
)
"""What makes each version of the schema from the one before; the first makes it from nothing."""
OLDEST_SERVER = 14
CONNECT_SECONDS = 5.0
MIGRATION_LOCK = 0x666F7265
"""The advisory lock under which the schema is changed: of two that start, one does it."""
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.QueryCanceledError,
)
"""The connection is lost, or of no use: whether its last statement was carried out is not known."""
PASSING = (
    *AWAY,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.LockNotAvailableError,
)
"""The server may be well again: none of it is damage."""


class LentConnection(asyncpg.Connection):  # type: ignore[misc]
    """A connection through a pooler, which lends a server for one transaction at a time.

    A statement is prepared and then carried out: outside of a transaction that may be on another
    server, where nothing was prepared, or something else.
    """

    async def fetch(self, *values: Any, **options: Any) -> Any:
        """Return the rows of a query."""
        return await self._lent(super().fetch, values, options)

    async def fetchrow(self, *values: Any, **options: Any) -> Any:
        """Return the first row of a query, or None."""
        return await self._lent(super().fetchrow, values, options)

    async def fetchval(self, *values: Any, **options: Any) -> Any:
        """Return the first column of the first row of a query, or None."""
        return await self._lent(super().fetchval, values, options)

    async def execute(self, *values: Any, **options: Any) -> Any:
        """Carry out statements; without arguments they are sent as they are."""
        if len(values) == 1:
            return await super().execute(*values, **options)
        return await self._lent(super().execute, values, options)

    async def _lent(self, call: Any, values: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if self.is_in_transaction():
            return await call(*values, **options)
        async with self.transaction():
            return await call(*values, **options)


_pooled: dict[str, bool] = {}
"""By address, whether a pooler such as PgBouncer answers there."""


async def connection_options(dsn: str) -> dict[str, Any]:
    """Return how to connect to a database: through a pooler, or to the writable of many hosts."""
    options: dict[str, Any] = {
        "timeout": CONNECT_SECONDS,
        "server_settings": {"application_name": "foretell"},
    }
    if "," in dsn and "target_session_attrs" not in dsn:
        options["target_session_attrs"] = "read-write"
    unprepared = options | {"statement_cache_size": 0, "connection_class": LentConnection}
    if dsn not in _pooled:
        connection = await asyncpg.connect(dsn, **unprepared)
        try:
            answering = await connection.fetchval("SELECT pg_backend_pid()")
            _pooled[dsn] = answering != connection.get_server_pid()
        finally:
            await close_connection(connection)
    return unprepared if _pooled[dsn] else options


async def connect(dsn: str) -> Any:
    """Open the first connection to a database; raise `LogClosed` where that may work later."""
    with opening(dsn):
        return await connect_again(dsn)


@contextmanager
def opening(dsn: str) -> Iterator[None]:
    """Say what to do about a database that cannot be reached, or an address that cannot be read."""
    try:
        with driver_errors_wrapped(dsn):
            yield
    except LogClosed as error:
        raise LogClosed(
            f"{error}: check its address, and that the server runs", error.outside
        ) from error
    except ForetellError:
        raise
    except ValueError:  # it may quote a piece of the password
        raise InvalidInput(f"the address {shown(dsn)} cannot be read: {FORM}") from None


async def connect_again(dsn: str) -> Any:
    """Open a connection to a database that could be used before."""
    with driver_errors_wrapped(dsn):
        connection = await asyncpg.connect(dsn, **await connection_options(dsn))
    version = connection.get_server_version().major
    if version < OLDEST_SERVER:
        await connection.close()
        raise DatabaseRefused(
            f"the server of {shown(dsn)} is PostgreSQL {version}: foretell needs "
            f"{OLDEST_SERVER} or newer"
        )
    return connection


async def close_connection(connection: Any) -> None:
    """Close a connection, whatever has become of it."""
    try:
        await connection.close(timeout=1.0)
    except (*PASSING, asyncpg.PostgresError, asyncio.CancelledError):
        connection.terminate()


async def prepare(connection: Any, dsn: str) -> dict[str, Any]:
    """Make the tables where there are none, or bring them up to date; return the settings."""
    with driver_errors_wrapped(dsn):
        async with connection.transaction():
            await connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
            known = await connection.fetchval("SELECT to_regclass('foretell.meta') IS NOT NULL")
            version = (await read_settings(connection))["schema"] if known else 0
            refuse_newer(version, dsn)
            for number, statements in enumerate(MIGRATIONS[version:], version + 1):
                await connection.execute(statements)
                await write_settings(connection, schema=number)
            await connection.execute("SELECT foretell.make_partitions(foretell.log_now() * 2048)")
        return await read_settings(connection)


async def check_schema(connection: Any, dsn: str) -> dict[str, Any]:
    """Refuse a database without a log, or with one of another version; return the settings."""
    with driver_errors_wrapped(dsn):
        if not await connection.fetchval("SELECT to_regclass('foretell.meta') IS NOT NULL"):
            raise InvalidInput(f"there is no log in {shown(dsn)}: check its name")
        settings = await read_settings(connection)
    refuse_newer(settings["schema"], dsn)
    if settings["schema"] < len(MIGRATIONS):
        raise InvalidInput(
            f"the log in {shown(dsn)} has the schema {settings['schema']}, and this version of "
            f"foretell reads {len(MIGRATIONS)}: start the service once, which brings it up to date"
        )
    return settings


def refuse_newer(version: int, dsn: str) -> None:
    """Refuse a schema that a newer foretell has made."""
    if version > len(MIGRATIONS):
        raise InvalidInput(
            f"the log in {shown(dsn)} has the schema {version}, and this version of foretell "
            f"knows {len(MIGRATIONS)}: use the version that made it"
        )


@contextmanager
def driver_errors_wrapped(dsn: str) -> Iterator[None]:
    """Raise an error of the driver as one of ours that names the database, without its password."""
    try:
        yield
    except asyncpg.InvalidAuthorizationSpecificationError as error:
        raise DatabaseRefused(
            f"the server of {shown(dsn)} refuses the user ({said(error)}): "
            f"check the user and the password, and whom the server lets in"
        ) from None
    except asyncpg.InvalidCatalogNameError as error:
        raise DatabaseRefused(
            f"cannot use the database {shown(dsn)} ({said(error)}): make it, or check its name"
        ) from None
    except asyncpg.ClientConfigurationError as error:
        raise DatabaseRefused(f"the address {shown(dsn)} cannot be used: {error}") from None
    except asyncpg.InsufficientPrivilegeError as error:
        raise DatabaseRefused(
            f"the user of {shown(dsn)} may not make or use the log ({said(error)}): "
            f"let it connect to that database, and make a schema there"
        ) from None
    except PASSING as error:
        raise LogClosed(
            f"the database {shown(dsn)} cannot be used now ({said(error)})", plain_reason(error)
        ) from error
    except asyncpg.PostgresError as error:
        raise DatabaseFailed(f"the database {shown(dsn)} cannot be used: {said(error)}") from error


def said(error: BaseException) -> str:
    """Return what a server or a driver says, without the lines of details and hints below it."""
    return str(error).partition("\n")[0] or type(error).__name__


def plain_reason(error: BaseException) -> str:
    """Return why a database cannot be used, without an address and the words of the driver."""
    return next((reason for kinds, reason in _REASONS if isinstance(error, kinds)), _UNKNOWN)


_UNKNOWN = "the database cannot be used now"
_REASONS: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    ((asyncpg.DiskFullError,), "the disk of the database server is full"),
    ((asyncpg.TooManyConnectionsError,), "the database server takes no more connections"),
    ((asyncpg.ReadOnlySQLTransactionError,), "the database server takes no writes"),
    ((asyncpg.CannotConnectNowError,), "the database server is starting or stopping"),
    ((asyncpg.AdminShutdownError, asyncpg.CrashShutdownError), "the database server has stopped"),
    ((TimeoutError, asyncpg.QueryCanceledError), "the database server does not answer in time"),
    (AWAY, "the database server cannot be reached"),
)
