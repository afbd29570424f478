"""A real server: its start, its first key, and its end by real signals."""

from __future__ import annotations

import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from foretell.service.setting_info import known_settings
from tests.service.server_process import CAMPAIGN, KEY, Server, environment, foretell

pytestmark = pytest.mark.slow


def half_a_request(server: Server) -> tuple[socket.socket, bytes]:
    """Begin a request that is in flight until the rest is sent."""
    body = json.dumps({"unit": "u1"}).encode()
    address = urlsplit(server.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=30)
    connection.sendall(
        b"POST /v1/campaigns/home-hero/decisions HTTP/1.1\r\nHost: here\r\n"
        b"Content-Type: application/json\r\n"
        b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
        % (server.key.encode(), len(body))
        + body[:4]
    )
    time.sleep(0.2)
    return connection, body[4:]


def everything(connection: socket.socket) -> bytes:
    """Read until the other side closes."""
    pieces = []
    with connection:
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


def test_the_first_start_prints_a_key_that_works_and_no_later_one_does(tmp_path: Path) -> None:
    with Server(tmp_path, FORETELL_ADMIN_KEY="") as server:
        assert server.process.stdout is not None
        while not (found := re.search(r"  (ftk_\S+)", server.said)):
            server.said += server.process.stdout.readline()
        server.key = found[1]
        assert server.ask("GET", "/v1/campaigns") == (200, {"campaigns": []})
    assert f"curl {server.url}/v1/campaigns" in server.said
    assert f"Dashboard: {server.url}/ui   API: {server.url}/docs\n" in server.said
    assert server.key not in server.logged()
    with Server(tmp_path, FORETELL_ADMIN_KEY="") as again:
        pass
    assert "ftk_" not in again.said


def test_the_environment_sets_the_first_key_and_then_nothing_is_printed(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.ask("GET", "/v1/keys")[0] == 200
    assert "ftk_" not in server.said + server.logged()
    said = "a new database: its first admin key is the one in FORETELL_ADMIN_KEY"
    assert said in server.logged()
    with Server(tmp_path, FORETELL_ADMIN_KEY="another-key-that-came-too-late") as again:
        assert again.ask("GET", "/v1/keys")[0] == 401
    assert "the admin key of the environment is not valid" in again.logged()
    assert again.logged().count(said) == 1, "at the first start alone"


def ready(folder: Path, command: str) -> tuple[int, str, str]:
    """Start a server by the shell, ask whether it is ready, stop it; give what it logged too."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    line = f"exec {sys.executable} -m foretell serve --port {port} {command}"
    process = subprocess.Popen(["/bin/sh", "-c", line], cwd=folder, env=environment())
    said = "{}"
    try:
        while said == "{}" and process.poll() is None:
            time.sleep(0.1)
            with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
                said = answer.read().decode()
    finally:
        process.terminate()
    log = folder / "log"
    return process.wait(timeout=60), said, log.read_text("utf-8") if log.exists() else ""


@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_a_first_key_that_cannot_be_shown_stops_nothing(tmp_path: Path, output: str) -> None:
    for warned in (1, 0):
        code, said, logged = ready(tmp_path, f"{output} 2>log")
        assert (code, json.loads(said)["status"]) == (0, "ok")
        assert logged.count("the first key could not be shown") == warned
        assert "ftk_" not in logged
        assert "Exception" not in logged
    made = foretell("keys", "make", "spare", "--scope", "admin", cwd=tmp_path)
    assert made.returncode == 0, made.stderr


def test_a_server_without_a_standard_error_serves(tmp_path: Path) -> None:
    code, said, _ = ready(tmp_path, ">out 2>&-")
    assert (code, json.loads(said)["status"]) == (0, "ok")
    assert "ftk_" in (tmp_path / "out").read_text("utf-8")


def test_a_host_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    refused = foretell("serve", "--host", "a..b", cwd=tmp_path)
    assert refused.returncode == 2
    assert "cannot listen at a..b port 8000" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_settings_reach_the_server(tmp_path: Path) -> None:
    (tmp_path / "live.toml").write_text('db = "named.db"\nmax_body = 2048\n', "utf-8")
    with Server(tmp_path, "--config", "live.toml", "--log-format", "json") as server:
        status, problem = server.ask("POST", "/v1/campaigns", {"name": "x" * 3000})
        assert (status, problem["type"]) == (413, "urn:foretell:problem:too-large")
    assert (tmp_path / "named.db").exists()
    lines = [json.loads(line) for line in server.logged().splitlines()]
    assert [line["message"].partition(":")[0] for line in lines] == [
        "a new database",
        "started",
        "stopping",
        "stopped",
    ]
    assert lines[1]["db"] == "named.db"
    assert lines[1]["url"] == server.url


def test_sigterm_finishes_what_is_in_flight_and_ends_with_0(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        connection, rest = half_a_request(server)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        address = urlsplit(server.url)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((address.hostname, address.port))
        connection.sendall(rest)
        head, _, body = everything(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 201")
        assert server.process.wait(timeout=60) == 0
    made = json.loads(body)["decision_id"]
    with Server(tmp_path) as again:
        assert again.ask("GET", f"/v1/decisions/{made}")[0] == 200


def test_a_request_that_never_ends_is_given_up_after_a_while(tmp_path: Path) -> None:
    with Server(tmp_path, "--drain-seconds", "1") as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        connection, _ = half_a_request(server)
        assert server.stop() == 0
        head, _, body = everything(connection).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503")
        assert b"content-type: application/problem+json" in head
        assert json.loads(body)["type"] == "urn:foretell:problem:log-closed"
    assert "Traceback" not in server.logged()


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_stops_at_once_and_loses_nothing(tmp_path: Path, second: int) -> None:
    with Server(tmp_path, "--drain-seconds", "60") as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        made = [server.ask("POST", "/v1/campaigns/home-hero/decisions")[1] for _ in range(20)]
        connection, _ = half_a_request(server)
        with connection:
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            began = time.monotonic()
            assert server.stop(second) == 128 + second
            assert time.monotonic() - began < 30
    with Server(tmp_path) as again:
        for decision in made:
            assert again.ask("GET", f"/v1/decisions/{decision['decision_id']}")[0] == 200


def test_ctrl_c_drains_too_and_ends_like_every_command(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        assert server.stop(signal.SIGINT) == 130
    assert "stopped" in server.logged()
    assert "Stopped; what was finished is kept." in server.logged()
    assert "Traceback" not in server.logged()


def test_a_stop_saves_states(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        server.ask("POST", "/v1/campaigns/home-hero/decisions")
    checked = foretell("verify", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert "equals its saved state" in checked.stdout


def test_a_stop_amid_scrubs_is_clean(tmp_path: Path) -> None:
    with Server(tmp_path, "--scrub-seconds", "0.01") as server:
        server.ask("POST", "/v1/campaigns", CAMPAIGN)
        time.sleep(0.5)
        assert server.stop() == 0
    assert "Traceback" not in server.logged()


def test_two_servers_share_neither_a_port_nor_a_database(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        same = foretell("serve", "--port", "0", cwd=tmp_path)
        assert same.returncode == 2
        assert "another process writes to the database 'foretell.db'" in same.stderr
        assert "stop it, or name another database" in same.stderr
        port = str(urlsplit(server.url).port)
        taken = foretell("serve", "--port", port, "--db", "other.db", cwd=tmp_path)
        assert taken.returncode == 2
        assert f"cannot listen at 127.0.0.1 port {port}" in taken.stderr
        assert not (tmp_path / "other.db").exists()
        assert "Traceback" not in same.stderr + taken.stderr


@pytest.mark.parametrize(
    ("db", "code", "sentence"),
    [
        ("nowhere/foretell.db", 2, "cannot open the database 'nowhere/foretell.db'"),
        ("text.db", 2, "'text.db' is no foretell database, or is damaged"),
        ("foreign.db", 2, "'foreign.db' is a database of something else"),
        ("folder", 2, "'folder' is a folder"),
        (":memory:", 2, "a database is a file, got ':memory:'"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, db: str, code: int, sentence: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("this is no database " * 400, "utf-8")
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE invoices (id)")
    foreign.close()
    before = set(tmp_path.iterdir())
    refused = foretell("serve", "--port", "0", "--db", db, cwd=tmp_path)
    assert refused.returncode == code
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
    assert set(tmp_path.iterdir()) == before


def test_time_scale_needs_a_database_of_its_own(tmp_path: Path) -> None:
    with Server(tmp_path):
        pass
    refused = foretell("serve", "--port", "0", "--time-scale", "100", cwd=tmp_path)
    assert refused.returncode == 2
    assert "time_scale needs a database of its own" in refused.stderr


def test_a_first_key_that_cannot_be_used_leaves_no_file(tmp_path: Path) -> None:
    variables = {"FORETELL_ADMIN_KEY": "short"}
    refused = foretell("serve", "--port", "0", cwd=tmp_path, variables=variables)
    assert refused.returncode == 2
    assert "the key in FORETELL_ADMIN_KEY must have at least 24 characters" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_help_tells_of_every_setting() -> None:
    shown = foretell("serve", "--help")
    assert shown.returncode == 0
    words = " ".join(shown.stdout.split())
    for setting in known_settings().values():
        assert setting.flag in words
        unsaid = setting.default is None or setting.is_switch
        default = "" if unsaid else f"; default: {setting.default}"
        assert f"[env var: {setting.variable}{default}]" in words
    assert "FORETELL_ADMIN_KEY" in words
    assert KEY not in words
