"""Files that are no database of ours are recognised, and left alone."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from foretell.errors import DamagedFile, ForetellError, InvalidInput
from foretell.service.log.errors import Damaged
from foretell.service.log.open import back_up_log, open_log, open_reader
from foretell.service.log.sqlite import connection as connections
from foretell.service.log.sqlite import lock as locks
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.lock import Lock
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.log.sqlite.restore import back_up
from foretell.service.log.sqlite.rows import write_settings


def foreign(path: Path, mode: str = "delete") -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE invoices (id)")


def old_format(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, campaign, round, body)")
        connection.execute("CREATE TABLE meta (name TEXT PRIMARY KEY, value)")
        connection.execute("INSERT INTO meta VALUES ('format', 2)")


STRANGE: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("no database " * 500, "utf-8"),
    "foreign": foreign,
    "foreign, with a journal": lambda path: foreign(path, "wal"),
    "folder": lambda path: path.mkdir(),
}


async def open_and_close(path: str) -> None:
    await (await open_log(path)).close()


def content(folder: Path) -> dict[str, bytes]:
    return {one.name: b"" if one.is_dir() else one.read_bytes() for one in folder.iterdir()}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_database_of_ours_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    STRANGE[kind](tmp_path / "some.db")
    before = content(tmp_path)
    with pytest.raises(ForetellError, match=r"some\.db' is "):
        asyncio.run(open_and_close(str(tmp_path / "some.db")))
    assert content(tmp_path) == before


@pytest.mark.parametrize("write", [True, False])
def test_a_database_of_the_old_format_is_refused_in_one_sentence(
    tmp_path: Path, write: bool
) -> None:
    old_format(tmp_path / "some.db")
    before = content(tmp_path)
    with pytest.raises(InvalidInput, match=r"before 0\.1.*begin with another database"):
        connect(str(tmp_path / "some.db"), write=write)
    assert content(tmp_path) == before


def test_a_database_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="a database is a file"):
        asyncio.run(open_and_close("a\0b"))
    assert content(tmp_path) == {}


@pytest.mark.parametrize("kind", ["empty", "text", "foreign"])
@pytest.mark.parametrize("read", [lambda path: back_up(path, f"{path}.copy"), check_database])
def test_what_is_no_database_of_ours_is_not_read_either(
    tmp_path: Path, kind: str, read: Callable[[str], object]
) -> None:
    (tmp_path / "some.db").touch()
    if kind in STRANGE:
        STRANGE[kind](tmp_path / "some.db")
    before = content(tmp_path)
    with pytest.raises(DamagedFile, match="is no foretell database"):
        read(str(tmp_path / "some.db"))
    assert content(tmp_path) == before


def test_another_format_is_not_read_either(tmp_path: Path) -> None:
    path = str(tmp_path / "some.db")
    with closing(connect(path, write=True)) as connection:
        write_settings(connection, log_format=7)
    with pytest.raises(InvalidInput, match="has the format 7"):
        check_database(path)
    with closing(apsw.Connection(path)) as connection:
        connection.execute("ALTER TABLE meta DROP COLUMN checksum")
    with pytest.raises(InvalidInput, match="has the format 7"):
        check_database(path)


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ("UPDATE meta SET value = 3 WHERE name = 'log_format'", "'log_format'"),
        ("UPDATE meta SET name = 'log_fornat' WHERE name = 'log_format'", "'log_fornat'"),
        ("UPDATE meta SET value = 5.5 WHERE name = 'time_scale'", "'time_scale'"),
        ("UPDATE meta SET name = 'time_scald' WHERE name = 'time_scale'", "'time_scald'"),
        ("UPDATE meta SET name = CAST(x'ff' AS TEXT) WHERE name = 'time_origin'", "one of the"),
    ],
)
def test_a_damaged_setting_is_not_another_setting(
    tmp_path: Path, change: str, setting: str
) -> None:
    """Else a log would go on at another speed, or as one of another format."""
    path = str(tmp_path / "some.db")

    async def open_log(time_scale: float | None) -> None:
        await SqliteLog(path, time_scale=time_scale).close()

    asyncio.run(open_log(5.0))
    with closing(apsw.Connection(path)) as connection:
        connection.execute(change)
        assert connection.total_changes() == 1
    with pytest.raises(Damaged, match=setting):
        asyncio.run(open_log(None))
    try:
        damage = check_database(path).damage
    except Damaged as error:
        damage = [str(error)]
    assert any(setting in sentence for sentence in damage)


def test_a_database_that_is_not_there_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no database"), open_reader("none.db"):
        pass
    with pytest.raises(InvalidInput, match="there is no database"):
        back_up_log(str(tmp_path / "none.db"), str(tmp_path / "copy.db"))


@pytest.mark.parametrize("error", [apsw.CantOpenError(), apsw.ReadOnlyError()])
def test_a_folder_that_cannot_be_written_is_named_as_the_reason(error: apsw.Error) -> None:
    """SQLite needs to write next to a database to read it; root may write everywhere."""
    read = connections._explained(error, "some.db", write=False)
    assert "cannot be read where it is" in str(read)
    assert "to a folder you can write to" in str(read)
    assert "writable" in str(connections._explained(error, "some.db", write=True))


def test_a_new_database_can_be_read_by_nobody_else(tmp_path: Path) -> None:
    connect(str(tmp_path / "some.db"), write=True).close()
    assert (tmp_path / "some.db").stat().st_mode & 0o077 == 0


def test_a_lock_that_its_holder_has_removed_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, really = str(tmp_path / "some.db"), locks._open_locked
    removed: list[int] = []

    def too_late(path: str, name: str) -> int:
        file = really(path, name)
        if not removed:
            removed.append(file)
            Path(name).unlink()
        return file

    monkeypatch.setattr(locks, "_open_locked", too_late)
    with Lock(path):
        assert content(tmp_path) == {"some.db.lock": b""}
        with pytest.raises(InvalidInput, match="another process"):
            Lock(path)


def test_a_lock_that_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "some.db.lock").touch()
    Lock(str(tmp_path / "some.db")).undo()
    assert (tmp_path / "some.db.lock").exists()
