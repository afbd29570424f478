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
from foretell.service.engine import Engine
from foretell.service.log.sqlite import connection as schema
from foretell.service.log.sqlite import lock as locks
from foretell.service.log.sqlite.backup import back_up
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.lock import Lock


def foreign(path: Path, mode: str = "delete") -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("CREATE TABLE invoices (id)")


STRANGE: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("no database " * 500, "utf-8"),
    "foreign": foreign,
    "foreign, with a journal": lambda path: foreign(path, "wal"),
    "folder": lambda path: path.mkdir(),
}


def content(folder: Path) -> dict[str, bytes]:
    return {one.name: b"" if one.is_dir() else one.read_bytes() for one in folder.iterdir()}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_database_of_ours_stays_as_it_is(tmp_path: Path, kind: str) -> None:
    STRANGE[kind](tmp_path / "some.db")
    before = content(tmp_path)
    with pytest.raises(ForetellError, match=r"some\.db' is "):
        asyncio.run(Engine.open(tmp_path / "some.db"))
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", [":memory:", "a\0b"])
def test_a_database_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="a database is a file"):
        asyncio.run(Engine.open(name))
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
        connection.execute("UPDATE meta SET value = 7 WHERE name = 'format'")
    with pytest.raises(InvalidInput, match="has the format 7"):
        check_database(path)


@pytest.mark.parametrize("error", [apsw.CantOpenError(), apsw.ReadOnlyError()])
def test_a_folder_that_cannot_be_written_is_named_as_the_reason(error: apsw.Error) -> None:
    """SQLite needs to write next to a database to read it; root may write everywhere."""
    read = schema._explained(error, "some.db", write=False)
    assert "cannot be read where it is" in str(read)
    assert "to a folder you can write to" in str(read)
    assert "writable" in str(schema._explained(error, "some.db", write=True))


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
