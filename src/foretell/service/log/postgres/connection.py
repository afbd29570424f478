"""One connection to the server: how it is opened, prepared, or refused in a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import asyncpg

from foretell.errors import ForetellError, InvalidInput
from foretell.service.database_address import without_password as shown
from foretell.service.log.errors import LogClosed
from foretell.service.log.postgres.settings import read_settings, write_settings

MIGRATIONS: Final = (Path(__file__).with_name("schema.sql").read_text("utf-8"),)
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


async def connect(dsn: str) -> Any:
    """Open a connection; raise `LogClosed` where that may work later."""
    with driver_errors_wrapped(dsn):
        connection = await asyncpg.connect(
            dsn, timeout=CONNECT_SECONDS, server_settings={"application_name": "foretell"}
        )
    version = connection.get_server_version().major
    if version < OLDEST_SERVER:
        await connection.close()
        raise InvalidInput(
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
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError) as e:
        raise InvalidInput(f"cannot use the database {shown(dsn)}: {e}") from None
    except asyncpg.ClientConfigurationError as error:
        raise InvalidInput(f"the address {shown(dsn)} cannot be used: {error}") from None
    except asyncpg.InsufficientPrivilegeError as error:
        raise InvalidInput(
            f"the user of {shown(dsn)} may not make or use the log ({error}): "
            f"let it make a schema in that database"
        ) from None
    except PASSING as error:
        reason = str(error) or type(error).__name__
        raise LogClosed(f"the database {shown(dsn)} cannot be used now ({reason})") from error
    except asyncpg.PostgresError as error:
        raise ForetellError(f"the database {shown(dsn)} cannot be used: {error}") from error
