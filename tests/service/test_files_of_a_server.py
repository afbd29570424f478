"""What happens to the files of a real server from outside: nothing acknowledged is lost."""

from __future__ import annotations

import http.client
import json
import resource
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tests.service.server_process import CAMPAIGN, KEY, Server, foretell

pytestmark = pytest.mark.slow

DECIDE = "/v1/campaigns/home-hero/decisions"


NO_TEMPORARY_FOLDER = """
import tempfile

def refuse():
    raise OSError(30, "Read-only file system")

tempfile.gettempdir = refuse
from foretell.cli import main
main()
"""
FULL_AT_FIRST = """
import resource
from foretell.cli import main
from foretell.service import server

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def say_and_make_room(*words):
    say(*words)
    limit(resource.RLIM_INFINITY)

say, server.logger.error = server.logger.error, say_and_make_room
limit(4096)
main()
"""


class NoTemporaryFolder(Server):
    """A server on a machine whose folder for temporary files cannot be used."""

    program = ("-c", NO_TEMPORARY_FOLDER)


def decide(server: Server, times: int = 10) -> list[str]:
    made = [server.ask("POST", DECIDE) for _ in range(times)]
    assert {status for status, _ in made} == {201}
    return [answer["decision_id"] for _, answer in made]


def until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it does not come")


def metric(server: Server, name: str) -> float:
    with urlopen(f"{server.url}/metrics") as answer:  # noqa: S310  (it is our own server)
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"foretell_{name} "))


def all_known(server: Server, decisions: list[str]) -> bool:
    return all(server.ask("GET", f"/v1/decisions/{one}")[0] == 200 for one in decisions)


def test_a_journal_without_its_database_is_kept(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        made = decide(server, 50)
        server.stop(signal.SIGKILL)
    database, journal = tmp_path / "foretell.db", tmp_path / "foretell.db-wal"
    before = journal.read_bytes()
    assert before
    database.rename(tmp_path / "away")
    refused = foretell("serve", "--port", "0", cwd=tmp_path)
    assert refused.returncode != 0
    assert "'foretell.db-wal' is there without its database: put 'foretell.db'" in refused.stderr
    assert (database.exists(), journal.read_bytes()) == (False, before)
    (tmp_path / "away").rename(database)
    with Server(tmp_path) as again:
        assert all_known(again, made)


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_database_that_is_taken_away_is_noticed_before_an_answer(
    tmp_path: Path, how: str
) -> None:
    database, moved = tmp_path / "foretell.db", tmp_path / "moved.db"
    rescued = tmp_path / "foretell.db.rescued"
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        made = decide(server)
        if how == "deleted":
            for ending in ("", "-wal", "-shm", ".lock"):
                (tmp_path / f"foretell.db{ending}").unlink()
        else:
            database.rename(moved)
        status, problem = server.ask("POST", DECIDE)
        assert (status, problem["type"]) == (503, "urn:foretell:problem:log-closed")
        assert f"{str(database)!r} was deleted, moved or replaced" in problem["detail"]
        where = rescued if how == "deleted" else moved
        until(lambda: str(where) in server.ask("GET", "/readyz")[1]["detail"])
        assert server.ask("GET", "/livez")[0] == 200
        assert not database.exists()
        if how == "moved":
            with Server(tmp_path, "--db", "moved.db") as other:
                made += decide(other)
                assert all_known(other, made)
            moved.rename(database)
            until(lambda: server.ask("GET", "/readyz")[0] == 200)
            made += decide(server)
            assert all_known(server, made)
    if how == "deleted":
        rescued.rename(database)
    with Server(tmp_path) as again:
        assert all_known(again, made)
    assert foretell("verify", cwd=tmp_path).returncode == 0


def test_no_second_server_starts_on_a_file_under_any_name(tmp_path: Path) -> None:
    database = tmp_path / "foretell.db"
    with Server(tmp_path) as server:
        key = server.ask("POST", "/v1/keys", {"name": "one", "scopes": ["decide"]})[1]
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "soft.db").symlink_to(database)
        (tmp_path / "folder").symlink_to(tmp_path)
        for name in ("foretell.db", "other/soft.db", "folder/foretell.db"):
            refused = foretell("serve", "--port", "0", "--db", name, cwd=tmp_path)
            assert "another process writes to the database" in refused.stderr, name
        (tmp_path / "foretell.db.lock").unlink()
        refused = foretell("serve", "--port", "0", cwd=tmp_path)
        assert "another process writes to the database" in refused.stderr
        hard = tmp_path / "other" / "hard.db"
        hard.hardlink_to(database)
        refused = foretell("serve", "--port", "0", "--db", str(hard), cwd=tmp_path)
        assert "another process writes to the database" in refused.stderr
        hard.unlink()
        assert server.ask("DELETE", f"/v1/keys/{key['id']}")[0] == 204


def half_a_restore(server: Server) -> socket.socket:
    """Begin to send a copy."""
    address = urlsplit(server.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=30)
    connection.sendall(
        b"POST /v1/restore HTTP/1.1\r\nHost: here\r\nContent-Type: application/vnd.sqlite3\r\n"
        b"Authorization: Bearer %s\r\nContent-Length: 9000000\r\n\r\n"
        % KEY.encode()
        + bytes(3_000_000)
    )
    return connection


def scratch(folder: Path) -> list[Path]:
    return [file for one in folder.glob("foretell.db.scratch-*") for file in one.iterdir()]


def test_copies_are_private_and_beside_the_database_and_gone_after_the_next_start(
    tmp_path: Path,
) -> None:
    with Server(tmp_path) as server, half_a_restore(server):
        until(lambda: bool(scratch(tmp_path)))
        (left,) = scratch(tmp_path)
        assert left.stat().st_mode & 0o777 == 0o600
        assert left.parent.stat().st_mode & 0o777 == 0o700
        server.stop(signal.SIGKILL)
    assert scratch(tmp_path) == [left]
    with Server(tmp_path):
        assert list(tmp_path.glob("*.scratch-*")) == []


def test_copies_need_no_folder_of_the_system(tmp_path: Path) -> None:
    with NoTemporaryFolder(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        made = decide(server)
        key = {"FORETELL_KEY": KEY, "FORETELL_URL": server.url}
        copy = str(tmp_path / "copy.db")
        backed_up = foretell(
            "backup", copy, "--url", server.url, "--key", KEY, cwd=tmp_path, variables=key
        )
        assert backed_up.returncode == 0, backed_up.stderr
        address = urlsplit(server.url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
        connection.request(
            "GET",
            "/v1/campaigns/home-hero/export?format=parquet",
            headers={"Authorization": f"Bearer {KEY}"},
        )
        table = connection.getresponse()
        assert (table.status, table.read()[:4]) == (200, b"PAR1")
        connection.close()
        restored = foretell("restore", copy, "--yes", "--url", server.url, "--key", KEY)
        assert restored.returncode == 0, restored.stderr
        assert all_known(server, made)
    assert {one.name for one in tmp_path.iterdir()} == {
        "foretell.db",
        "foretell.db.lock",
        "foretell.db.before-restore",
        "copy.db",
        "server.log",
    }


def test_a_copy_without_room_is_said_and_harms_nobody(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        decide(server, 3)
        pid, unlimited = server.process.pid, resource.RLIM_INFINITY
        for limit in (20_000, 70_000):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, unlimited))
            status, problem = server.ask("GET", "/v1/backup")
            assert (status, problem["type"]) == (507, "urn:foretell:problem:no-room")
            assert "there is no room for the copy next to the database" in problem["detail"]
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        until(lambda: server.ask("GET", "/readyz")[0] == 200)
        decide(server, 3)
        assert scratch(tmp_path) == []
    assert "Traceback" not in server.logged()


def test_too_few_descriptors_are_no_damage(tmp_path: Path) -> None:
    with Server(tmp_path, "--scrub-seconds", "0.2") as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        decide(server, 3)
        address = urlsplit(server.url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=30)
        authorized = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        connection.request("GET", "/livez")
        connection.getresponse().read()
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, before[1]))
        until(lambda: "the log could not be checked" in server.logged())
        connection.request("GET", "/v1/backup", headers=authorized)
        answer = connection.getresponse()
        problem = json.loads(answer.read())
        assert (answer.status, problem["type"]) == (503, "urn:foretell:problem:log-closed")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        connection.request("POST", DECIDE, headers=authorized)
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (201, True)
        connection.close()
        until(lambda: server.ask("GET", "/readyz")[0] == 200)
        decide(server, 3)
        assert metric(server, "damage") == 0
    assert "damage" not in server.logged()


class FullAtFirst(Server):
    """A server that has no room until it says so."""

    program = ("-c", FULL_AT_FIRST)


def test_the_first_start_on_a_full_disk_waits_too(tmp_path: Path) -> None:
    with FullAtFirst(tmp_path) as late:
        assert "not started yet: the database" in late.logged()
        late.ask("POST", "/v1/campaigns", CAMPAIGN)
        decide(late, 3)


def test_a_start_on_a_full_disk_waits_and_says_so(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        made = decide(server, 50)
        server.stop(signal.SIGKILL)
    with FullAtFirst(tmp_path) as late:
        assert "not started yet: the database" in late.logged()
        assert "the server waits, and tries again" in late.logged()
        assert all_known(late, made)
    assert "Traceback" not in late.logged()
