"""A copy takes the place of a log, of which nothing is left, whatever is written meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from foretell.service.log.postgres import copies
from foretell.service.log.postgres.log import PostgresLog
from tests.service.log.engines import ADMIN, decide, read_all


def test_ranks_of_the_log_before_are_not_kept_while_a_copy_takes_its_place(
    still: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that restores a copy keeps ranks now and then, on another connection."""
    replace, refused = copies._replace, []

    async def keep_ranks() -> None:
        connection = await asyncpg.connect(still)
        try:
            await connection.execute("SET lock_timeout = '100ms'")
            await connection.execute("SELECT foretell.keep_ranks($1)", 2**62)
        except asyncpg.LockNotAvailableError:
            refused.append(True)
        finally:
            await connection.close()

    async def replace_meanwhile(*about: Any) -> None:
        await replace(*about)
        await keep_ranks()

    monkeypatch.setattr(copies, "_replace", replace_meanwhile)

    async def law() -> None:
        log = await PostgresLog.open(still)
        copy = str(tmp_path / "copy")
        await log.append([ADMIN])
        await log.backup(copy)
        await decide(log)
        await log.restore(copy)
        assert len(await read_all(log)) == 1
        await log.close()

    asyncio.run(law())
    assert refused == [True]
