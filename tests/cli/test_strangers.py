"""Commands that are sent to something else than foretell say so in one sentence."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from foretell.cli import cli
from foretell.errors import ForetellError

SQLITE = "application/vnd.sqlite3"
NESTED = b'{"keys":' + b"[" * 200_000


def answer(status: str, body: bytes, media: str = "application/json", more: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + more + b"\r\n" + body


@contextmanager
def stranger(says: bytes) -> Iterator[str]:
    """Return the address of a server that says the same to everyone, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, says))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listener: socket.socket, says: bytes) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):  # whoever has read enough hangs up
            connection.recv(65536)
            connection.sendall(says)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass


def asked(url: str, *arguments: str) -> str:
    """Return the sentence in which a command fails."""
    done = CliRunner().invoke(cli, [*arguments, "--url", url, "--key", "k"])
    assert isinstance(done.exception, ForetellError), (done.output, done.exception)
    return str(done.exception)


@pytest.fixture
def copy(tmp_path: Path) -> str:
    (tmp_path / "copy.db").write_bytes(b"SQLite format 3\0")
    return str(tmp_path / "copy.db")


OTHERS = {
    "a page": answer("200 OK", b"<html>", "text/html"),
    "nothing at all": answer("200 OK", b""),
    "no text": answer("200 OK", b'{"keys":"\xff\xfe"}'),
    "another object": answer("200 OK", b'{"results":[]}'),
    "nested without end": answer("200 OK", NESTED),
}


@pytest.mark.parametrize("says", OTHERS.values(), ids=OTHERS)
def test_an_answer_that_is_none_of_ours(says: bytes, copy: str) -> None:
    with stranger(says) as url:
        for arguments in (
            ("keys", "list"),
            ("keys", "make", "x", "--scope", "read"),
            ("restore", copy, "--yes"),
        ):
            assert asked(url, *arguments) == (
                f"{url} does not answer as foretell does: check the address"
            )


def test_a_page_revokes_no_key() -> None:
    with stranger(OTHERS["a page"]) as url:
        assert "does not answer as foretell does" in asked(url, "keys", "revoke", "x")


@pytest.mark.parametrize(
    "says",
    [
        *OTHERS.values(),
        answer("200 OK", b"no database", SQLITE),
        answer("200 OK", b"", SQLITE),
        f"HTTP/1.1 200 OK\r\nContent-Type: {SQLITE}\r\n\r\nSQLite format 3\0".encode(),
    ],
)
def test_what_is_no_database_is_not_kept_as_a_copy(says: bytes, tmp_path: Path) -> None:
    with stranger(says) as url:
        said = asked(url, "backup", str(tmp_path / "out.db"))
    assert said == f"{url} does not answer as foretell does: check the address"
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_is_cut_off_is_not_kept(tmp_path: Path) -> None:
    says = answer("200 OK", b"SQLite format 3\0" + bytes(100), SQLITE)[:-50]
    with stranger(says) as url:
        said = asked(url, "backup", str(tmp_path / "out.db"))
    assert "66 of 116 bytes came" in said or "no answer" in said
    assert list(tmp_path.iterdir()) == []


def test_a_copy_is_on_disk_and_can_be_read_by_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_ino))
    with stranger(answer("200 OK", b"SQLite format 3\0" + bytes(100), SQLITE)) as url:
        out = tmp_path / "out.db"
        done = CliRunner().invoke(cli, ["backup", str(out), "--url", url, "--key", "k"])
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert synced == [out.stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        (answer("302 Found", b"", more=b"Location: http://[::1\r\n"), "says: 302 Found"),
        (answer("308 There", b"", more=b"Location: /elsewhere\r\n"), "says: 308 There"),
        (answer("404 Nothing", NESTED), "says: 404 Nothing"),
        (answer("502 \x1b[2J", b"<html>"), r"says: '502 \x1b[2J'"),
        (answer("422 X", b'{"type":"","title":"","status":1,"detail":"\\u001b[2J"}'), r"'\x1b[2J'"),
        (b"\x1b[2J\x07 garbage\r\n\r\n", r"no answer from"),
        (b"", "no answer from"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n", "no answer from"),
    ],
)
def test_a_refusal_is_shown_and_harms_no_terminal(says: bytes, sentence: str) -> None:
    with stranger(says) as url:
        said = asked(url, "keys", "list")
    assert sentence in said
    assert said.isprintable()


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://a..b",
        "http://localhost:99999",
        "http://localhost:x",
        "http://a b",
        "http://",
        "ftp://localhost",
    ],
)
def test_what_is_no_address_is_named(url: str) -> None:
    assert asked(url, "keys", "list") == (
        f"a service has an address like 'http://localhost:8000', got {url!r}"
    )


@pytest.mark.parametrize("command", [("list",), ("revoke", "x"), ("make", "x", "--scope", "read")])
def test_no_keys_are_made_in_an_empty_file(tmp_path: Path, command: tuple[str, ...]) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    done = CliRunner().invoke(cli, ["keys", *command, "--db", str(empty)])
    assert "is no foretell database" in str(done.exception)
    assert empty.read_bytes() == b""
    assert list(tmp_path.iterdir()) == [empty]


def test_no_keys_are_made_in_a_database_without_lines(tmp_path: Path) -> None:
    from foretell.service.log.sqlite.connection import connect

    path = str(tmp_path / "some.db")
    connect(path, write=True).close()
    done = CliRunner().invoke(cli, ["keys", "list", "--db", path])
    assert "has no records, so no keys" in str(done.exception)
    assert not Path(f"{path}.lock").exists()


@pytest.mark.parametrize("option", ["--rate", "--late", "--lost", "--duplicates"])
def test_nan_is_no_number(option: str) -> None:
    done = CliRunner().invoke(cli, ["simulate-traffic", option, "nan"])
    assert done.exit_code == 2
    assert "'nan' is not a number" in done.output
