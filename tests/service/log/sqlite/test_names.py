"""A database whose name is taken away: it is noticed, and what it held is not lost."""

from __future__ import annotations

import asyncio
import errno
import logging
from pathlib import Path

import apsw
import pytest

from foretell.errors import DamagedFile
from foretell.service.log.errors import LogClosed
from foretell.service.log.open import open_log
from foretell.service.log.protocol import Log
from foretell.service.log.sqlite import database, names, watch, writer
from tests.service.log.engines import decide, open_again


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "REOPEN_SECONDS", 0.01)
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.01)


async def until_closed(log: Log, words: str = "") -> None:
    """Wait until a log is closed, and says so in these words."""
    for _ in range(4000):
        if log.closed is not None and words in log.closed:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(log.closed)


@pytest.mark.parametrize("how", ["moved", "deleted", "replaced"])
def test_a_database_that_is_gone_is_not_written_any_more(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, moved, rescued = tmp_path / "a.db", tmp_path / "moved.db", tmp_path / "a.db.rescued"

    async def run() -> None:
        log = await open_log(str(path))
        await decide(log)
        if how == "moved":
            path.rename(moved)
        elif how == "deleted":
            path.unlink()
        else:
            moved.write_bytes(path.read_bytes())
            moved.replace(path)
        with pytest.raises(LogClosed, match=r"was deleted, moved or replaced.*is not known"):
            await decide(log)
        with pytest.raises(LogClosed, match="nothing was taken in"):
            await decide(log)
        where = f"is now '{moved}'" if how == "moved" else f"is now in '{rescued}'"
        await until_closed(log, where)
        assert path.exists() == (how == "replaced")
        if how == "moved":
            moved.rename(path)
            await open_again(log)
            await decide(log)
            assert await log.count_records() == 3
        await log.close()
        assert path.exists() == (how != "deleted")

    with caplog.at_level(logging.WARNING, "foretell"):
        asyncio.run(run())
    if how != "moved":
        assert rescued.stat().st_mode & 0o777 == 0o600
        rescued.replace(path)
        assert asyncio.run(count(path)) == 2
        assert not (tmp_path / "a.db-wal").exists()


@pytest.mark.parametrize("how", ["an older copy", "cut off"])
def test_a_database_that_is_overwritten_is_not_written_any_more(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What writes into the file under its name, as `cp` does, leaves name and inode."""
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 1)
    path = tmp_path / "a.db"

    async def run() -> None:
        log = await open_log(str(path))
        older = path.read_bytes()
        for _ in range(100):
            await decide(log)
        assert path.stat().st_size > len(older), "our own checkpoints are none of that"
        path.write_bytes(older if how == "an older copy" else older[:4096])
        with pytest.raises(LogClosed, match=r"(was overwritten|is malformed).*is not known"):
            await decide(log)
        with pytest.raises(LogClosed, match="nothing was taken in"):
            await decide(log)
        await asyncio.sleep(0.2)  # it is tried again meanwhile
        assert log.closed is not None, "what is there now is not that log"
        await log.close()

    asyncio.run(run())


async def count(path: Path) -> int:
    log = await open_log(str(path))
    try:
        assert log.check().damage == []
        return await log.count_records()
    finally:
        await log.close()


def remove_all(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def test_a_deleted_database_is_copied_at_the_end_if_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "REOPEN_SECONDS", 1000.0)
    path = tmp_path / "a.db"

    async def run() -> None:
        log = await open_log(str(path))
        await decide(log)
        remove_all(tmp_path)
        with pytest.raises(LogClosed):
            await decide(log)
        await log.close()

    asyncio.run(run())
    (tmp_path / "a.db.rescued").replace(path)
    assert asyncio.run(count(path)) == 2


def test_a_copy_that_finds_no_room_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files without a name stay open until all that is in them is somewhere else."""
    path, (really, full) = tmp_path / "a.db", (names._copy_aside, [True])

    def copy_aside(writer: apsw.Connection, path: str) -> str:
        if full[0]:
            raise OSError(errno.ENOSPC, "no room")
        return really(writer, path)

    monkeypatch.setattr(names, "_copy_aside", copy_aside)

    async def run() -> None:
        log = await open_log(str(path))
        await decide(log)
        path.unlink()
        await until_closed(log)
        await asyncio.sleep(0.1)
        assert "rescued" not in str(log.closed)
        full[0] = False
        await until_closed(log, "a.db.rescued")
        await log.close()

    asyncio.run(run())
    (tmp_path / "a.db.rescued").replace(path)
    assert asyncio.run(count(path)) == 1


def test_an_idle_log_notices_that_its_database_is_gone(tmp_path: Path) -> None:
    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        (tmp_path / "a.db").rename(tmp_path / "b.db")
        await until_closed(log)
        (tmp_path / "b.db").rename(tmp_path / "a.db")
        await open_again(log)
        await log.close()

    asyncio.run(run())


def test_a_journal_that_is_deleted_is_written_to_the_database(tmp_path: Path) -> None:
    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        numbers = [await decide(log, nonce=n) for n in range(3)]
        (tmp_path / "a.db-wal").unlink()
        await until_closed(log)
        await open_again(log)
        assert len(await log.decisions(1, numbers)) == 3
        await decide(log)
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        await log.close()

    asyncio.run(run())
    assert asyncio.run(count(tmp_path / "a.db")) == 4


def test_where_the_system_does_not_say_what_is_open_a_copy_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "DESCRIPTORS", tmp_path / "nowhere")

    async def run() -> None:
        log = await open_log(str(tmp_path / "a.db"))
        await decide(log)
        (tmp_path / "a.db").rename(tmp_path / "b.db")
        await until_closed(log, "a.db.rescued")
        await log.close()

    asyncio.run(run())
    assert asyncio.run(count(tmp_path / "a.db.rescued")) == 1


@pytest.mark.parametrize(
    ("left", "way"),
    [
        (["a.db.rescued", "a.db.rescued.old-wal"], r"a\.db\.rescued': give that file the name"),
        (["a.db.rescued-2"], r"a\.db\.rescued-2': give that file the name"),
        (["a.db.rescued.old-wal"], r"a\.db\.rescued\.old-wal': put the database back"),
    ],
)
def test_no_new_database_is_begun_next_to_one_that_was_rescued(
    tmp_path: Path, left: list[str], way: str
) -> None:
    for name in left:
        (tmp_path / name).write_bytes(b"what was saved")
    with pytest.raises(DamagedFile, match=f"{way}.*or move all that begins with"):
        asyncio.run(open_log(str(tmp_path / "a.db")))
    assert sorted(path.name for path in tmp_path.iterdir()) == left
    for name in left:
        (tmp_path / name).rename(tmp_path / f"away-{name}")
    assert asyncio.run(count(tmp_path / "a.db")) == 0
