"""A log behind PgBouncer in transaction mode: any statement may be carried out by any server."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from foretell.service.log.postgres.connection import LentConnection, connect
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.protocol import Draft
from tests.service.log.engines import accepted, decided, feedback, read_all
from tests.service.log.postgres_server import (
    QUICK,
    answers,
    binary,
    drop_database,
    made_database,
    run_as_server,
    server_user,
    wait_until,
)

SETTINGS = """
[databases]
* = host={host} user=postgres pool_size=3
[pgbouncer]
pool_mode = transaction
listen_addr =
unix_socket_dir = {folder}
listen_port = 5432
auth_type = any
max_client_conn = 200
"""


@pytest.fixture
def pooled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database with an empty log, through a pooler with three connections."""
    import shutil

    dsn = made_database(**QUICK)
    folder: Path = tmp_path_factory.mktemp("b")
    for place in (folder, *folder.parents[:3]):
        if str(place).startswith("/tmp/"):  # noqa: S108
            place.chmod(0o755)
    user = server_user()
    if user is not None:
        shutil.chown(folder, user)
    host = parse_qs(urlsplit(dsn).query)["host"][0]
    settings = folder / "pgbouncer.ini"
    settings.write_text(SETTINGS.format(host=host, folder=folder))
    bouncer = run_as_server(binary("pgbouncer"), str(settings), folder=folder)
    through = dsn.replace(host, str(folder))
    try:
        wait_until(lambda: asyncio.run(answers(through)))
        yield through
    finally:
        bouncer.send_signal(signal.SIGINT)
        bouncer.wait(30)
        drop_database(dsn)


def test_a_log_works_through_a_pooler(pooled: str) -> None:
    async def law() -> None:
        connection = await connect(pooled)
        assert isinstance(connection, LentConnection)
        await connection.close()
        logs = [await PostgresLog.open(pooled) for _ in range(3)]
        try:

            async def write(log: PostgresLog, campaign: int) -> None:
                for n in range(20):
                    (record,) = await accepted(log, Draft(campaign, decided(n)))
                    await log.append([feedback(9, record.seq, f"raced-{n}")])
                    assert (await log.decided(campaign, [record.seq])).keys() == {record.seq}

            await asyncio.gather(*(write(log, n) for n, log in enumerate(logs, 1)))
            records = await read_all(logs[0])
            assert len(records) == 3 * 20 + 20
            assert (await asyncio.to_thread(logs[0].check)).damage == []
        finally:
            for log in logs:
                await log.close()

    asyncio.run(law())
