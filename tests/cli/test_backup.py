"""`foretell backup` and `foretell restore`, next to a running server and through it."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.in_process import foretell
from tests.service import server_process
from tests.service.server_process import CAMPAIGN, KEY, Server

pytestmark = pytest.mark.slow


def campaigns(server: Server) -> list[str]:
    """Return the names of the campaigns."""
    return [one["name"] for one in server.ask("GET", "/v1/campaigns")[1]["campaigns"]]


@pytest.mark.parametrize("online", [False, True])
def test_a_copy_is_made_while_the_server_runs_and_takes_its_place(
    tmp_path: Path, online: bool
) -> None:
    with Server(tmp_path) as server:
        place = ("--url", server.url, "--key", KEY) if online else ()
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        _, made = server.ask("POST", "/v1/campaigns/home-hero/decisions")
        copied = foretell("backup", "copy.db", *place, cwd=tmp_path)
        assert copied.returncode == 0, copied.stderr
        again = foretell("backup", "copy.db", *place, cwd=tmp_path)
        assert again.returncode == 2
        assert "'copy.db' exists already" in again.stderr
        server.ask("POST", "/v1/campaigns", CAMPAIGN | {"name": "too-late"})
        refused = foretell("restore", "copy.db", *place, cwd=tmp_path, answer="n\n")
        assert (refused.returncode, refused.stderr) == (130, "Nothing was restored.\n")
        unanswered = foretell("restore", "copy.db", *place, cwd=tmp_path)
        assert (unanswered.returncode, unanswered.stderr) == (130, "\nNothing was restored.\n")
        if online:
            restored = foretell("restore", "copy.db", *place, "--yes", cwd=tmp_path)
            assert restored.returncode == 0, restored.stderr
            assert campaigns(server) == ["home-hero"]
            assert server.ask("POST", "/v1/campaigns/home-hero/decisions")[0] == 201
        else:
            locked = foretell("restore", "copy.db", "--yes", cwd=tmp_path)
            assert locked.returncode == 2
            assert "another process writes to the database" in locked.stderr
    if not online:
        restored = foretell("restore", "copy.db", cwd=tmp_path, answer="y\n")
        assert restored.returncode == 0, restored.stderr
    with Server(tmp_path) as server:
        assert campaigns(server) == ["home-hero"]
        assert server.ask("GET", f"/v1/decisions/{made['decision_id']}")[0] == 200
    kept = foretell("verify", "--db", "foretell.db.before-restore", cwd=tmp_path)
    assert kept.returncode == 0, kept.stdout
    assert "too-late" in kept.stdout


def test_a_damaged_copy_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "copy.db").write_text("no database " * 500, "utf-8")
    with Server(tmp_path) as server:
        place = ("--url", server.url, "--key", KEY)
        refused = foretell("restore", "copy.db", *place, "--yes", cwd=tmp_path)
        assert refused.returncode == 2
        assert "is no foretell database" in refused.stderr
        assert server.ask("GET", "/v1/campaigns")[0] == 200
    refused = foretell("restore", "copy.db", "--yes", cwd=tmp_path)
    assert refused.returncode == 2
    assert "is no foretell database" in refused.stderr
    assert not (tmp_path / "foretell.db.before-restore").exists()


def test_a_copy_takes_the_place_of_nothing_without_a_question(tmp_path: Path) -> None:
    with Server(tmp_path):
        server_process.foretell("backup", "copy.db", cwd=tmp_path)
    restored = server_process.foretell("restore", "copy.db", "--db", "new.db", cwd=tmp_path)
    assert restored.returncode == 0, restored.stderr
    assert (tmp_path / "new.db").exists()


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Return the database of a server that was killed: all it has written is in its journal."""
    folder = tmp_path / "crashed"
    folder.mkdir()
    with Server(folder) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        for _ in range(20):
            server.ask("POST", "/v1/campaigns/home-hero/decisions")
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    assert (folder / "foretell.db-wal").stat().st_size > 0
    return folder / "foretell.db"


@pytest.mark.parametrize("online", [False, True])
def test_a_copy_is_restored_with_its_journal(tmp_path: Path, crashed: Path, online: bool) -> None:
    key = "the-admin-key-before-the-restore"
    if online:
        with Server(tmp_path, FORETELL_ADMIN_KEY=key) as server:
            place = ("--url", server.url, "--key", key)
            restored = foretell("restore", str(crashed), *place, "--yes", cwd=tmp_path)
            server.key = KEY
            assert campaigns(server) == ["home-hero"]
    else:
        restored = foretell("restore", str(crashed), cwd=tmp_path)
    assert restored.returncode == 0, restored.stderr
    assert restored.stdout == f"Restored from {crashed}.\n"
    assert "foretell.db: 23 records" in foretell("verify", cwd=tmp_path).stdout


def test_a_database_takes_no_place_of_its_own(crashed: Path) -> None:
    journal = crashed.with_name("foretell.db-wal").read_bytes()
    refused = foretell("restore", "foretell.db", "--yes", cwd=crashed.parent)
    assert refused.returncode == 2
    assert "'foretell.db' is the database itself" in refused.stderr
    assert crashed.with_name("foretell.db-wal").read_bytes() == journal


def test_a_copy_without_its_journal_is_refused_and_nothing_changes(
    tmp_path: Path, crashed: Path
) -> None:
    (tmp_path / "copy.db").write_bytes(crashed.read_bytes())
    with Server(tmp_path) as server:
        place = ("--url", server.url, "--key", KEY)
        refused = foretell("restore", "copy.db", *place, "--yes", cwd=tmp_path)
        assert refused.returncode == 2
        assert "hold no admin key" in refused.stderr
        assert server.ask("GET", "/v1/keys")[0] == 200
    for db in ("foretell.db", "new.db"):
        refused = foretell("restore", "copy.db", "--yes", "--db", db, cwd=tmp_path)
        assert refused.returncode == 2
        assert "hold no admin key" in refused.stderr
    assert not list(tmp_path.glob("new.db*"))
    assert not list(tmp_path.glob("*.before-restore"))


def test_what_is_no_database_of_ours_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with closing(sqlite3.connect(tmp_path / "foreign.db")) as foreign, foreign:
        foreign.execute("CREATE TABLE invoices (id)")
    for db in ("empty.db", "foreign.db"):
        refused = foretell("backup", "copy.db", "--db", db, cwd=tmp_path)
        assert refused.returncode == 2
        assert f"'{db}' is no foretell database" in refused.stderr
        checked = foretell("verify", "--db", db, cwd=tmp_path)
        assert checked.returncode == 1
        assert f"'{db}' is no foretell database" in checked.stdout
    assert not (tmp_path / "copy.db").exists()
