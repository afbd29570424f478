"""`foretell keys`, over the network and in the database of a stopped server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from foretell.cli import cli
from tests.service.server_process import KEY, Server, foretell


@pytest.mark.slow
def test_keys_are_made_listed_and_revoked_at_a_running_service(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        place = {"FORETELL_URL": server.url, "FORETELL_ADMIN_KEY": KEY}
        made = foretell(
            "keys", "make", "web", "--scope", "decide", "--scope", "read", "--json", variables=place
        )
        assert made.returncode == 0, made.stderr
        web = json.loads(made.stdout)
        server.key = web["key"]
        assert server.ask("GET", "/v1/campaigns")[0] == 200
        assert server.ask("GET", "/v1/keys")[0] == 403
        listed = json.loads(foretell("keys", "list", "--json", variables=place).stdout)
        assert [(one["name"], one["scopes"]) for one in listed] == [
            ("first", ["admin"]),
            ("web", ["decide", "read"]),
        ]
        assert web["key"] not in json.dumps(listed)
        assert foretell("keys", "revoke", web["id"], variables=place).returncode == 0
        assert server.ask("GET", "/v1/campaigns")[0] == 401
        rotated = foretell("keys", "rotate", variables=place)
        assert rotated.returncode == 0, rotated.stderr
        assert "signed with secret 1 since" in rotated.stdout
        for arguments, sentence in [
            (("revoke", web["id"]), "there is no key"),
            (("revoke", listed[0]["id"]), "the last key with the scope admin"),
            (("make", "no spaces", "--scope", "read"), "the name of a key"),
        ]:
            refused = foretell("keys", *arguments, variables=place)
            assert refused.returncode == 2
            assert sentence in refused.stderr
        wrong = foretell(
            "keys", "list", "--key", "ftk_wrong", variables={"FORETELL_URL": server.url}
        )
        assert wrong.returncode == 2
        assert "the key is not valid" in wrong.stderr


@pytest.mark.slow
def test_keys_are_made_in_the_database_of_a_stopped_service(tmp_path: Path) -> None:
    with Server(tmp_path):
        locked = foretell("keys", "list", cwd=tmp_path)
        assert locked.returncode == 2
        assert "another process writes to the database 'foretell.db'" in locked.stderr
        assert "--url" in locked.stderr
    assert "secret 1" in foretell("keys", "rotate", cwd=tmp_path).stdout
    made = foretell("keys", "make", "lost-key", "--scope", "admin", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    key = made.stdout.splitlines()[0]
    with Server(tmp_path) as server:
        server.key = key
        status, listed = server.ask("GET", "/v1/keys")
        assert status == 200
    first = next(one["id"] for one in listed["keys"] if one["name"] == "first")
    assert foretell("keys", "revoke", first, cwd=tmp_path).returncode == 0
    shown = foretell("keys", "list", cwd=tmp_path).stdout
    assert "lost-key" in shown
    assert first not in shown


@pytest.mark.parametrize("command", [("list",), ("revoke", "x"), ("make", "x", "--scope", "read")])
def test_no_keys_are_made_in_an_empty_file(tmp_path: Path, command: tuple[str, ...]) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    done = CliRunner().invoke(cli, ["keys", *command, "--db", str(empty)])
    assert "is no foretell database" in str(done.exception)
    assert empty.read_bytes() == b""
    assert list(tmp_path.iterdir()) == [empty]


def test_no_keys_are_made_in_a_database_without_records(tmp_path: Path) -> None:
    from foretell.service.log.sqlite.connection import connect

    path = str(tmp_path / "some.db")
    connect(path, write=True).close()
    done = CliRunner().invoke(cli, ["keys", "list", "--db", path])
    assert "has no records, so no keys" in str(done.exception)
    assert not Path(f"{path}.lock").exists()
