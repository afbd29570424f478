"""Commands that are sent to something else than foretell say so in one sentence."""

from __future__ import annotations

import os
import socket
import stat
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from foretell.cli import cli
from foretell.client import replies
from foretell.errors import ForetellError

SQLITE = "application/vnd.sqlite3"
PROBLEM = "application/problem+json"
NESTED = b'{"keys":' + b"[" * 200_000


def answer(status: str, body: bytes, media: str = "application/json", more: bytes = b"") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + more + b"\r\n" + body


@contextmanager
def stranger(says: bytes, heard: list[bytes] | None = None, to_the_end: int = 1) -> Iterator[str]:
    """Return the address of a server that says the same to everyone, and hangs up.

    It keeps what it hears, and answers once that is so many bytes.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(
            target=_serve, args=(listener, says, [] if heard is None else heard, to_the_end)
        )
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(listener: socket.socket, says: bytes, heard: list[bytes], to_the_end: int) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection, suppress(OSError):  # whoever has read enough hangs up
            size = 0
            while size < to_the_end and (part := connection.recv(65536)):
                size += len(part)
                heard.append(part)
            connection.sendall(says)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65536):
                heard.append(part)


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
            said = asked(url, *arguments)
            assert said.startswith(
                f"{url} gives no usable answer (the service answered 200 and what cannot be read: "
            )
            assert said.endswith("): check the address, and that the service is running")
            assert said.isprintable()


@pytest.mark.parametrize(
    "status", ["429 Too Many Requests", "500 Internal Server Error", "503 Service Unavailable"]
)
def test_a_service_that_says_why_it_cannot_answer_is_quoted(status: str, copy: str) -> None:
    problem = b'{"type":"urn:x","title":"No","detail":"the log cannot be written: disk full"}'
    with stranger(answer(status, problem, "application/problem+json")) as url:
        for arguments in (("keys", "list"), ("backup", f"{copy}.new"), ("restore", copy, "--yes")):
            assert asked(url, *arguments) == f"{url} says: the log cannot be written: disk full"


def test_a_page_revokes_no_key() -> None:
    with stranger(OTHERS["a page"]) as url:
        assert "and what cannot be read" in asked(url, "keys", "revoke", "x")


@pytest.mark.parametrize(
    "says",
    [
        *OTHERS.values(),
        answer("200 OK", b"no database", SQLITE),
        answer("200 OK", b"", SQLITE),
        answer("200 OK", b"SQLite format 3\0", "application/vnd.foretell.copy"),
        answer("200 OK", b"\0\0\0\x12\x92\xafforetell", "application/vnd.foretell.copy"),
        f"HTTP/1.1 200 OK\r\nContent-Type: {SQLITE}\r\n\r\nSQLite format 3\0".encode(),
    ],
)
def test_what_is_no_database_is_not_kept_as_a_copy(says: bytes, tmp_path: Path) -> None:
    with stranger(says) as url:
        said = asked(url, "backup", str(tmp_path / "out.db"))
    assert said == (
        f"{url} gives no usable answer (the service answered with no database): "
        f"check the address, and that the service is running"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_copy_that_is_cut_off_is_not_kept(tmp_path: Path) -> None:
    says = answer("200 OK", b"SQLite format 3\0" + bytes(100), SQLITE)[:-50]
    with stranger(says) as url:
        said = asked(url, "backup", str(tmp_path / "out.db"))
    assert f"{url} gives no usable answer (the service cannot be reached: " in said
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
        (answer("302 Found", b"", more=b"Location: http://[::1\r\n"), "answered 302)"),
        (answer("302 Found", b"", more=b"Location: http://x\r\n"), "answered 302)"),
        (answer("308 There", b"", more=b"Location: /elsewhere\r\n"), "answered 308)"),
        (answer("404 Nothing", NESTED), "answered 404)"),
        (answer("502 \x1b[2J", b"<html>"), "no usable answer"),
        (answer("502 Bad", b"<html>"), "answered 502)"),
        (answer("422 X", b'{"detail":"\\u001b[2J"}', PROBLEM), r"says: '\x1b[2J'"),
        (answer("422 X", b'{"detail":"not this"}'), "answered 422)"),
        (b"\x1b[2J\x07 garbage\r\n\r\n", "no usable answer"),
        (b"", "no usable answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n", "no usable answer"),
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
        f"a service has an address like 'http://localhost:8000', got {url!r}: "
        f"write the scheme, the host and the port so"
    )


ELSEWHERE: list[bytes] = []


def test_a_key_is_not_taken_elsewhere(tmp_path: Path) -> None:
    with stranger(answer("200 OK", b'{"keys":[]}'), ELSEWHERE) as other:
        more = f"Location: {other}/v1/keys\r\n".encode()
        for status in ("301 X", "302 X", "303 X", "307 X", "308 X"):
            with stranger(answer(status, b"", more=more)) as url:
                assert f"answered {status[:3]})" in asked(url, "keys", "list")
                assert f"answered {status[:3]})" in asked(url, "backup", str(tmp_path / "out.db"))
    assert ELSEWHERE == []


@pytest.mark.parametrize("length", [b"", b"Content-Length: 100000000\r\n"])
def test_an_endless_answer_ends(copy: str, length: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "MAX_REPLY_BYTES", 2**20)
    with stranger(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + b" " * 2**21) as url:
        for arguments in (("keys", "list"), ("restore", copy, "--yes")):
            assert "answered with more than 1 MB" in asked(url, *arguments)


def test_a_large_file_is_sent_and_taken_in_parts(tmp_path: Path) -> None:
    content = b"SQLite format 3\0" + os.urandom(2**24)
    (tmp_path / "copy.db").write_bytes(content)
    sent: list[bytes] = []
    tracemalloc.start()
    try:
        with stranger(
            answer("200 OK", b'{"head":"3675887820386203648"}'), sent, to_the_end=len(content)
        ) as url:
            restored = CliRunner().invoke(
                cli, ["restore", str(tmp_path / "copy.db"), "--yes", "--url", url, "--key", "k"]
            )
            peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert restored.output == f"Restored from {tmp_path / 'copy.db'}.\n"
    assert b"".join(sent).endswith(content)
    assert peak - len(content) < 2**23  # the server keeps the content, the command does not
