"""`foretell keys`, over the network and in the database of a stopped server."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from foretell import protocol
from foretell.cli import cli
from foretell.service.engine import Engine
from tests.cli.in_process import foretell
from tests.service import server_process
from tests.service.server_process import KEY, Server


@pytest.mark.slow
def test_keys_are_made_listed_and_revoked_at_a_running_service(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        place = {"FORETELL_URL": server.url, "FORETELL_ADMIN_KEY": KEY}
        web_key = ("make", "web", "--scope", "decide", "--scope", "read", "--json")
        made = server_process.foretell("keys", *web_key, variables=place)
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
        retired = foretell("keys", "retire-secret", "1", "--with-ids", variables=place)
        assert retired.returncode == 0, retired.stderr
        assert "No id that it has signed is valid any more" in retired.stdout
        secrets = json.loads(foretell("keys", "secrets", "--json", variables=place).stdout)
        assert [one["ids_valid"] for one in secrets] == [True, False, True]
        for arguments, sentence in [
            (("revoke", web["id"]), "there is no key"),
            (("retire-secret", "1"), "the secret 1 is retired already"),
            (("make", "x", "--scope", "read", "--campaign", "none"), "there is no campaign 'none'"),
            (("make", "x", "--scope", "read", "--expires", "soon"), "as in 90d, 12h or"),
            (("make", "x", "--scope", "read", "--expires", "90"), "as in 90d, 12h or 30m, or"),
            (("retire-secret", "abc"), "'abc' is not a valid number, as foretell keys secrets"),
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
        assert "first" in foretell("keys", "list", cwd=tmp_path).stdout
        locked = foretell("keys", "rotate", cwd=tmp_path)
        assert locked.returncode == 2
        assert "another process writes to the database 'foretell.db'" in locked.stderr
        assert "--url" in locked.stderr
    assert "secret 1" in foretell("keys", "rotate", cwd=tmp_path).stdout
    arguments = ("make", "lost-key", "--scope", "admin")
    made = server_process.foretell("keys", *arguments, cwd=tmp_path)
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


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A database that was served once."""
    path = str(tmp_path / "some.db")

    async def serve() -> None:
        engine = await Engine.open(path, compiled=False)
        await engine.create(protocol.NewCampaign("hero", ["a", "b"], ["click"], "ucb"))
        await engine.close()

    asyncio.run(serve())
    return path


def test_a_key_can_end_and_be_for_one_campaign(database: str) -> None:
    place = ["--db", database]
    arguments = ["make", "web", "--scope", "read", "--campaign", "hero", "--expires", "90d"]
    made = CliRunner().invoke(cli, ["keys", *arguments, "--json", *place], catch_exceptions=False)
    web = json.loads(made.stdout)
    ends = datetime.fromisoformat(web["expires_at"]) - datetime.fromisoformat(web["created_at"])
    assert timedelta(days=89) < ends < timedelta(days=91)
    assert (web["campaign"], web["last_used"], web["created_by"]) == ("hero", None, None)
    spoken = CliRunner().invoke(cli, ["keys", *arguments, *place]).stdout
    assert "It is valid until 20" in spoken
    listed = CliRunner().invoke(cli, ["keys", "list", *place]).stdout
    assert "hero" in listed
    assert "never" in listed


def test_the_secrets_of_a_stopped_service_are_listed_and_retired(database: str) -> None:
    place = ["--db", database]
    retired = CliRunner().invoke(cli, ["keys", "retire-secret", "0", *place]).stdout
    assert "Secret 0 is retired since" in retired
    assert "The ids that it signed before stay valid." in retired
    assert "signs now" in CliRunner().invoke(cli, ["keys", "secrets", *place]).stdout
