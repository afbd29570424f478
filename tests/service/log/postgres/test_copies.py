"""A copy takes the place of a log, of which nothing is left, whatever is written meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from foretell.errors import DamagedFile, InvalidInput
from foretell.service.engine.verify import verify_log
from foretell.service.log.open import open_reader
from foretell.service.log.postgres import copies
from foretell.service.log.postgres.log import PostgresLog
from foretell.service.log.protocol import Draft
from tests.service.log.engines import ADMIN, accepted, decide, decided, read_all


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE events SET body = decode('00', 'hex') WHERE seq = $1", "does not match its check"),
        ("DELETE FROM events WHERE seq = $1", "was cut off, changed, moved or added"),
        ("DELETE FROM keys WHERE $1::bigint > 0", "the keys that were claimed do not match"),
        ("INSERT INTO ranks VALUES (1, $1, 7)", "is wrong"),
        ("UPDATE streams SET records = 9 WHERE $1::bigint > 0", "the end of its stream 1 is wrong"),
        ("UPDATE personal SET context = decode('01', 'hex') WHERE seq = $1", "the context of rec"),
    ],
)
def test_a_copy_is_checked_as_its_log(
    still: str, tmp_path: Path, statement: str, sentence: str
) -> None:
    async def damage() -> None:
        log = await PostgresLog.open(still)
        draft = Draft(1, decided(), unit=b"u", unit_action=0, context=b"c", claims=((1, b"d:a"),))
        await accepted(log, ADMIN, draft, Draft(1, decided()))
        (first, _) = await log.decisions_after(1, 0, 9)
        await log.close()
        await asyncio.to_thread(copies.back_up, still, str(tmp_path / "sound"))
        connection = await asyncpg.connect(still)
        await connection.execute("SET search_path = foretell")
        await connection.execute(statement, first.number)
        await connection.close()

    asyncio.run(damage())
    copies.back_up(still, str(tmp_path / "damaged"))
    assert found_in(tmp_path / "sound") == []
    (found,) = found_in(tmp_path / "damaged")[:1]
    assert sentence in found
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged", "sound"]


def found_in(copy: Path) -> list[str]:
    """Return what a check finds in a copy."""
    try:
        with open_reader(str(copy)) as log:
            return asyncio.run(verify_log(log)).damage
    except DamagedFile as error:
        return [str(error)]


def test_a_copy_with_archives_says_where_it_is_checked(still: str, tmp_path: Path) -> None:
    async def archive() -> None:
        connection = await asyncpg.connect(still)
        await connection.execute("INSERT INTO foretell.archives VALUES (1, 2, '{1}')")
        await connection.close()

    asyncio.run(archive())
    copies.back_up(still, str(tmp_path / "copy"))
    with (
        pytest.raises(InvalidInput, match="restore it to an empty database, and verify that"),
        open_reader(str(tmp_path / "copy")),
    ):
        pass


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
