"""A service moves from a file to PostgreSQL and back, with `foretell copy`, as a user does it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.cli.in_process import foretell
from tests.service.log.postgres_server import (
    QUICK,
    at_database,
    drop_database,
    made_database,
    shared_dsn,
)
from tests.service.server_process import CAMPAIGN, KEY, Server


@pytest.fixture
def dsn() -> Iterator[str]:
    dsn = made_database(**QUICK)
    yield dsn
    drop_database(dsn)


def decide(server: Server) -> str:
    status, answer = server.ask("POST", "/v1/campaigns/home-hero/decisions", {"unit": "u1"})
    assert status == 201, answer
    return str(answer["decision_id"])


def reward(server: Server, decision: str, event_id: str) -> Any:
    path, body = f"/v1/decisions/{decision}/reward", {"value": 1.0, "event_id": event_id}
    status, answer = server.ask("POST", path, body)
    assert status < 300, answer
    return answer["status"]


def test_a_service_moves_to_postgresql_and_back(tmp_path: Path, dsn: str) -> None:
    file, back = str(tmp_path / "foretell.db"), str(tmp_path / "back.db")
    with Server(tmp_path, "--db", file) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        first = decide(server)
        assert reward(server, first, "one") == "accepted"
        early = foretell("copy", file, dsn)
        assert early.returncode == 2
        assert "what was written so far is copied to postgresql://" in early.stderr
        assert "run the same command again" in early.stderr
        second = decide(server)
    moved = foretell("copy", file, dsn)
    assert moved.returncode == 0, moved.stderr
    assert "records have moved to postgresql://" in moved.stdout
    assert moved.stdout.count("equal in both") == 9
    refused = foretell("serve", "--db", file, "--port", "0")
    assert refused.returncode == 2
    assert "has moved to postgresql://" in refused.stderr
    listed = foretell("keys", "list", "--json", "--db", file)
    assert listed.returncode == 0, listed.stderr
    key = json.loads(listed.stdout)[0]
    assert key["name"] == "first", "a sealed log can be read"
    assert json.loads(foretell("keys", "secrets", "--json", "--db", file).stdout)[0]["ids_valid"]
    for change in (("make", "k", "--scope", "read"), ("revoke", key["id"]), ("rotate",)):
        keys = foretell("keys", *change, "--db", file)
        assert (keys.returncode, "has moved to postgresql://" in keys.stderr) == (2, True)
    with Server(tmp_path, "--db", dsn) as server:
        assert reward(server, first, "one") == "duplicate"
        assert reward(server, second, "two") == "accepted"
        status, history = server.ask("GET", f"/v1/decisions/{first}")
        assert (status, '"one"' in json.dumps(history)) == (200, True)
        third = decide(server)
    assert foretell("copy", dsn, back).returncode == 0
    assert key["id"] in foretell("keys", "list", "--db", dsn).stdout
    with Server(tmp_path, "--db", back) as server:
        assert reward(server, third, "three") == "accepted"
        assert reward(server, first, "one") == "duplicate"
        decide(server)
    verified = foretell("verify", "--db", back, "--json")
    found = json.loads(verified.stdout)
    assert (found["damage"], verified.returncode) == ([], 0)
    assert [one["comparison"] for one in found["campaigns"]] == ["same"]


def test_one_place_is_no_move(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    file.touch()
    assert "name another target" in foretell("copy", str(file), str(file)).stderr
    missing = foretell("copy", str(tmp_path / "x"), str(file)).stderr
    assert "there is no database" in missing
    assert "check the name of the source" in missing


def test_no_command_shows_the_password_of_a_database(tmp_path: Path, dsn: str) -> None:
    place, copy = f"{dsn}&password=secret", str(tmp_path / "copy")
    keys = foretell("keys", "list", "--db", place)
    assert "has no records, so no keys" in keys.stderr
    verified = foretell("verify", "--db", place), foretell("verify", "--db", place, "--json")
    assert [one.returncode for one in verified] == [0, 0]
    backup = foretell("backup", copy, "--db", place)
    assert backup.returncode == 0, backup.stderr
    archive = foretell("archive", "--db", place, "--out", str(tmp_path))
    restore = foretell("restore", copy, "--db", place, answer="n\n")
    for one in (keys, *verified, backup, archive, restore):
        assert "secret" not in one.stdout + one.stderr


def test_a_running_server_on_postgresql_is_copied_and_restored(tmp_path: Path, dsn: str) -> None:
    with Server(tmp_path, "--db", dsn) as server:
        place = ("--url", server.url, "--key", KEY)
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        first = decide(server)
        copied = foretell("backup", "copy", *place, cwd=tmp_path)
        assert copied.returncode == 0, copied.stderr
        second = decide(server)
        restored = foretell("restore", "copy", *place, "--yes", cwd=tmp_path)
        assert restored.returncode == 0, restored.stderr
        assert reward(server, first, "one") == "accepted"
        assert reward(server, second, "two") == "parked"


@pytest.fixture
def empty() -> Iterator[str]:
    """A database in which there is nothing."""
    name = f"foretell_restored_{os.getpid()}"
    asyncio.run(execute(shared_dsn(), f"CREATE DATABASE {name}"))
    dsn = at_database(shared_dsn(), name)
    yield dsn
    drop_database(dsn)


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(statement)
    await connection.close()


def test_a_copy_is_restored_where_nothing_is_left(tmp_path: Path, dsn: str, empty: str) -> None:
    with Server(tmp_path, "--db", dsn) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        first = decide(server)
    assert foretell("backup", "copy", "--db", dsn, cwd=tmp_path).returncode == 0
    checked = json.loads(foretell("verify", "--db", "copy", "--json", cwd=tmp_path).stdout)
    there = json.loads(foretell("verify", "--db", dsn, "--json").stdout)
    assert checked == there | {"db": "copy"}
    assert checked["records"] == 4
    assert [one["campaign"] for one in checked["campaigns"]] == ["home-hero"]
    for refused in (
        foretell("serve", "--db", "copy", "--port", "0", cwd=tmp_path),
        foretell("keys", "rotate", "--db", "copy", cwd=tmp_path),
        foretell("copy", "copy", "file.db", cwd=tmp_path),
    ):
        assert refused.returncode == 2
        assert "'copy' is a copy of a log in PostgreSQL, which can be" in refused.stderr
    content = (tmp_path / "copy").read_bytes()
    (tmp_path / "cut").write_bytes(content[:-20])
    cut = foretell("restore", "cut", "--db", empty, "--yes", cwd=tmp_path)
    assert (cut.returncode, "or is damaged" in cut.stderr) == (2, True)
    checked = foretell("verify", "--db", "cut", cwd=tmp_path)
    assert (checked.returncode, "or is damaged" in checked.stdout) == (1, True)
    checked = foretell("verify", "--db", empty)
    assert "there is no log in" in checked.stderr, "a copy that is refused leaves nothing"
    restored = foretell("restore", "copy", "--db", empty, "--yes", cwd=tmp_path)
    assert restored.returncode == 0, restored.stderr
    assert foretell("verify", "--db", empty).returncode == 0
    with Server(tmp_path, "--db", empty) as server:
        assert reward(server, first, "one") == "accepted"


def test_a_copy_of_one_engine_is_not_restored_into_the_other(tmp_path: Path, dsn: str) -> None:
    with Server(tmp_path) as server:
        place = ("--url", server.url, "--key", KEY)
        assert foretell("backup", "file.db", *place, cwd=tmp_path).returncode == 0
        with Server(tmp_path, "--db", dsn) as other:
            others = ("--url", other.url, "--key", KEY)
            assert foretell("backup", "rows", *others, cwd=tmp_path).returncode == 0
            into_rows = foretell("restore", "file.db", *others, "--yes", cwd=tmp_path)
        into_file = foretell("restore", "rows", *place, "--yes", cwd=tmp_path)
    for refused in (
        into_rows,
        foretell("restore", "file.db", "--db", dsn, "--yes", cwd=tmp_path),
    ):
        assert refused.returncode == 2
        assert "is a copy of a log in a file, and this log is in PostgreSQL" in refused.stderr
        assert "restore it to a new file, and then move" in refused.stderr
    for refused in (into_file, foretell("restore", "rows", "--db", "new.db", cwd=tmp_path)):
        assert refused.returncode == 2
        assert "is a copy of a log in PostgreSQL, and this log is in a file" in refused.stderr
        assert "to an empty database of PostgreSQL, and then move" in refused.stderr
    assert not (tmp_path / "new.db").exists()


def test_a_log_in_postgresql_is_not_replaced_unasked(tmp_path: Path, dsn: str) -> None:
    copy = str(tmp_path / "copy")
    assert foretell("backup", copy, "--db", dsn).returncode == 0
    asked = foretell("restore", copy, "--db", dsn, answer="n\n")
    assert "of which nothing is kept?" in asked.stdout
    assert (asked.returncode, asked.stderr) == (130, "Nothing was restored.\n")
    assert foretell("verify", "--db", dsn).returncode == 0
