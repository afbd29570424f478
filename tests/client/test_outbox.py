"""The outbox: what it took is there, whatever happens to those who use it."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import foretell
from foretell.client import OutboxUnusable, outbox, outbox_file
from foretell.client.outbox import Outbox
from foretell.client.outbox_file import committed
from tests.client.conftest import Make
from tests.client.fake_service import Service

WRITER = """
import sys, foretell
client = foretell.Client(sys.argv[1], outbox=sys.argv[2], timeout=30)
for number in range(int(sys.argv[4])):
    client.reward("d", 1.0, event_id=f"{sys.argv[3]}-{number}")
    print(number, flush=True)
client.flush(60)
"""


def writer(service: Service, path: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, service.url, str(path), name, str(count)],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Outbox]:
    opened = Outbox(str(tmp_path / "outbox.db"))
    yield opened
    opened.close()


@pytest.fixture(params=["WAL", "PERSIST"])
def journals(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_file, "journal_mode", lambda version: request.param)


@pytest.mark.usefixtures("journals")
def test_what_one_client_kept_the_next_one_sends(
    service: Service, make: Make, tmp_path: Path
) -> None:
    service.stop()
    first = make(service.url, outbox=tmp_path / "outbox.db")
    events = [first.reward("d", 1.0) for _ in range(5)]
    first.close(timeout=0.01)
    second = make(service.url, outbox=tmp_path / "outbox.db")
    assert second.pending == 5
    service.start()
    assert second.flush()
    assert list(service.events) == events


@pytest.mark.slow
@pytest.mark.parametrize("listening", [True, False])
def test_a_killed_process_loses_nothing(service: Service, tmp_path: Path, listening: bool) -> None:
    if not listening:
        service.stop()
    kept: set[str] = set()
    for turn in range(3):
        process = writer(service, tmp_path / "outbox.db", f"turn{turn}", 100_000)
        assert process.stdout is not None
        for line in process.stdout:
            kept.add(f"turn{turn}-{int(line)}")
            if int(line) == 40 + 7 * turn:
                process.kill()
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
    if not listening:
        assert not service.events
        service.start()
    with foretell.Client(service.url, outbox=tmp_path / "outbox.db") as client:
        assert client.flush(30)
    assert kept <= set(service.events)
    # A kill may come after an event was kept and before that was said.
    assert len(service.events) <= len(kept) + 3


@pytest.mark.slow
def test_processes_share_a_file(service: Service, tmp_path: Path) -> None:
    processes = [writer(service, tmp_path / "outbox.db", f"p{n}", 60) for n in range(4)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert len(service.events) == 240
    with foretell.Client(service.url, outbox=tmp_path / "outbox.db") as client:
        assert client.pending == 0
        assert client.rejected() == []


def test_threads_share_a_client(service: Service, make: Make, tmp_path: Path) -> None:
    client = make(service.url, timeout=20.0, outbox=tmp_path / "outbox.db")
    failed: list[BaseException] = []

    def work(name: int) -> None:
        try:
            for number in range(15):
                decision = client.decide("c")
                client.reward(decision.id, 1.0, event_id=f"{name}-{number}")
        except BaseException as error:  # noqa: BLE001 - checked below
            failed.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert client.flush(20)
    assert len(service.events) == 90
    assert len(service.decisions) == 90


def test_each_sends_its_own_and_takes_what_others_left(box: Outbox, tmp_path: Path) -> None:
    other = Outbox(str(tmp_path / "outbox.db"))
    box.put(b"1")
    other.put(b"2")
    box.put(b"3")
    assert [row.body for row in box.take(9, up_to=0)] == [b"1", b"3"]
    assert [row.body for row in other.take(9, up_to=0)] == [b"2"]
    assert [row.body for row in box.take(9, up_to=box.head())] == [b"1", b"2", b"3"]
    assert [row.body for row in box.take(2, up_to=box.head())] == [b"1", b"2"]
    other.close()


def test_what_is_old_is_for_everyone(
    box: Outbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Outbox(str(tmp_path / "outbox.db"))
    other.put(b"left behind")
    assert box.take(9, up_to=0) == []
    monkeypatch.setattr(outbox, "ORPHANED_SECONDS", -1.0)
    assert [row.body for row in box.take(9, up_to=0)] == [b"left behind"]
    other.close()


def test_no_number_is_used_twice(box: Outbox) -> None:
    box.put(b"1")
    (first,) = box.take(1, up_to=0)
    box.settle([first.seq], [])
    box.put(b"2")
    box.settle([first.seq], [])
    assert box.count() == 1
    assert box.take(1, up_to=0)[0].seq > first.seq


def test_a_full_disk_raises_and_loses_nothing_kept(box: Outbox) -> None:
    box.put(b"first")
    box._database.execute("PRAGMA max_page_count = 8")
    kept = 1
    with contextlib.suppress(OutboxUnusable):
        for kept in range(1, 100):  # noqa: B007 - it is read below
            box.put(b"x" * 1000)
    with pytest.raises(OutboxUnusable, match=r"full: this event was not kept"):
        box.put(b"x" * 1000)
    assert 1 <= box.count() == kept < 99
    box._database.execute("PRAGMA max_page_count = 1000000")
    box.put(b"again")
    assert box.count() == kept + 1


def test_a_damaged_outbox_is_one_clear_error(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    filled = Outbox(str(path))
    for _ in range(200):
        filled.put(b"x" * 100)
    filled.close()
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(OutboxUnusable, match=r"cannot be opened: it is damaged: .*: name another"):
        make("http://localhost:1", outbox=path)
    path.write_bytes(b"this is no database at all" * 100)
    with pytest.raises(OutboxUnusable, match="not a database"):
        make("http://localhost:1", outbox=path)


@pytest.mark.usefixtures("journals")
def test_the_database_of_something_else_is_left_alone(make: Make, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE users (name)")
    base.close()
    before = path.read_bytes()
    with pytest.raises(OutboxUnusable, match="something else"):
        make("http://localhost:1", outbox=path)
    assert path.read_bytes() == before


def test_an_outbox_that_cannot_be_written_is_one_clear_error(make: Make, tmp_path: Path) -> None:
    for path in (tmp_path / "no" / "such" / "folder.db", tmp_path, "a\0b", "\ud800"):
        with pytest.raises(OutboxUnusable, match="cannot be opened"):
            make("http://localhost:1", outbox=path)


def test_a_client_may_be_made_before_a_fork_but_not_used(service: Service, tmp_path: Path) -> None:
    program = f"""
import os, foretell
from foretell.client import ClientClosed
fresh = foretell.Client({service.url!r}, outbox={str(tmp_path / "outbox.db")!r})
used = foretell.Client({service.url!r}, timeout=20.0)
used.decide("c")
child = os.fork()
if child == 0:
    fresh.reward("d", 1.0, event_id="of the child")
    assert fresh.flush(20)
    fresh.close()
    try:
        used.decide("c")
    except ClientClosed as error:
        assert "make a client in each process" in str(error)
        used.close()
        os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
used.decide("c")
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
    assert list(service.events) == ["of the child"]


def test_feedback_is_sent_when_a_process_ends_without_closing(service: Service) -> None:
    program = f"import foretell; foretell.Client({service.url!r}).reward('d', 1.0)"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert len(service.events) == 1


ENDINGS = ("", "-wal", "-shm", "-journal")


def rights(path: Path) -> dict[str, str]:
    files = {ending: Path(f"{path}{ending}") for ending in ENDINGS}
    return {
        ending: oct(stat.S_IMODE(file.stat().st_mode))
        for ending, file in files.items()
        if file.exists()
    }


@pytest.mark.usefixtures("journals")
@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_only_its_owner_can_read_an_outbox(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "outbox.db"
    before = os.umask(mask)
    try:
        made = Outbox(str(path))
        made.put(b"{}")
        assert len(rights(path)) >= 2
        assert set(rights(path).values()) == {"0o600"}
        for ending in rights(path):
            Path(f"{path}{ending}").chmod(0o666)
        again = Outbox(str(path))
        again.put(b"{}")
        assert set(rights(path).values()) == {"0o600"}
        assert made.count() == 2
    finally:
        os.umask(before)
    made.close()
    again.close()


def test_what_is_no_outbox_keeps_its_rights(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_text("no database at all, but somebody's notes" * 100)
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE t (x)")
    for file in (text, other, tmp_path):
        mode = file.stat().st_mode
        with pytest.raises(OutboxUnusable, match="cannot be opened"):
            Outbox(str(file))
        assert file.stat().st_mode == mode


BEGIN = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"


@pytest.mark.usefixtures("journals")
def test_a_second_client_takes_no_lock_from_the_first(tmp_path: Path) -> None:
    """To open and close a database beside SQLite would drop the locks of the whole process."""
    path = str(tmp_path / "outbox.db")
    first = Outbox(path)
    with committed(first._database):
        Outbox(path).close()
        done = subprocess.run(
            [sys.executable, "-c", BEGIN, path], capture_output=True, text=True, check=False
        )
        assert "database is locked" in done.stderr
    first.close()


@pytest.mark.usefixtures("journals")
def test_a_new_outbox_was_never_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opened it while others could read it could go on reading."""
    monkeypatch.setattr(outbox_file, "_make_private", lambda path: None)
    made = Outbox(str(tmp_path / "outbox.db"))
    made.put(b"{}")
    assert set(rights(tmp_path / "outbox.db").values()) == {"0o600"}
    made.close()


def test_the_time_of_a_call_bounds_the_wait_for_the_outbox(
    service: Service, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []

    def put(self: Outbox, body: bytes, timeout: float = 3600.0) -> None:
        waits.append(timeout)

    monkeypatch.setattr(Outbox, "put", put)
    make(service.url, timeout=0.25).reward("d", 1.0)
    assert waits == [0.25]
