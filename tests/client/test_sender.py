"""The sender: it lives as long as its client, and ends when it is told to."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from foretell.client import OutboxUnusable, calls, outbox_file
from foretell.client.outbox import Outbox
from foretell.client.sender import Sender
from tests.client.conftest import Make, until
from tests.client.fake_service import Fault, Service


def test_no_failure_ends_the_sending(
    service: Service, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make(service.url)
    with monkeypatch.context() as patched:
        patched.setattr(calls, "batch_call", _broken)
        client.reward("d", 1.0)
        assert not client.flush(0.1)
        assert "tried again: RuntimeError('a defect')" in str(client.trouble)
    assert client.flush()
    assert client.trouble is None
    assert len(service.events) == 1


def _broken(*_: Any) -> None:
    raise RuntimeError("a defect")


class FullDisk:
    """A database on a disk that has room for a journal of few changes."""

    def __init__(self, base: sqlite3.Connection, room: int) -> None:
        self._base = base
        self.room = room

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)

    def executemany(self, statement: str, values: Sequence[Any]) -> None:
        if len(values) > self.room:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        self._base.executemany(statement, values)


def filled(path: Path, count: int) -> None:
    box = Outbox(str(path))
    for number in range(count):
        box.put(b'{"decision_id":"d","event_id":"%d","value":1.0}' % number)
    box.close()


def with_room(monkeypatch: pytest.MonkeyPatch, room: int) -> list[FullDisk]:
    disks: list[FullDisk] = []
    begin = Outbox.__init__

    def prepared(box: Outbox, path: str | None) -> None:
        begin(box, path)
        disks.append(FullDisk(box._database, room))
        box._database = disks[-1]  # type: ignore[assignment]

    monkeypatch.setattr(Outbox, "__init__", prepared)
    return disks


def test_an_outbox_on_a_full_disk_drains_part_by_part(
    service: Service, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "outbox.db", 60)
    with_room(monkeypatch, 3)
    client = make(service.url, outbox=tmp_path / "outbox.db")
    assert client.flush()
    assert client.pending == 0
    assert service.batches() == [[str(number) for number in range(60)]]


def test_what_cannot_be_settled_is_sent_again_in_ever_smaller_batches_and_logged_once(
    service: Service,
    make: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    filled(tmp_path / "outbox.db", 8)
    service.verdict = lambda event: {"status": "rejected", "detail": "there is no such decision"}
    disks = with_room(monkeypatch, 0)
    client = make(service.url, outbox=tmp_path / "outbox.db")
    for _ in range(3):
        assert not client.flush(0.05)
    until(lambda: len(service.batches()[-1]) == 1)
    assert isinstance(client.trouble, OutboxUnusable)
    assert client.pending == 8
    assert [len(batch) for batch in service.batches()][:4] == [8, 4, 2, 1]
    disks[-1].room = 100
    assert client.flush()
    assert len(client.rejected()) == 8
    assert caplog.text.count("there is no such decision") == 8


def test_a_new_outbox_has_the_journal_with_which_it_drains_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_file, "journal_mode", lambda version: "PERSIST")
    for _ in range(2):
        filled(tmp_path / "outbox.db", 100)
        assert (tmp_path / "outbox.db-journal").stat().st_size > 65536


def test_an_outbox_is_opened_without_writing(tmp_path: Path) -> None:
    path = tmp_path / "outbox.db"
    filled(path, 1)
    before = path.read_bytes()
    opened = Outbox(str(path))
    opened.close()
    assert path.read_bytes() == before


def test_closing_raises_nothing_when_the_outbox_is_gone(
    service: Service, make: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service.always = Fault(status=500)
    client = make(service.url, outbox=tmp_path / "outbox.db")
    client.reward("d", 1.0)
    sender = of(client)
    sender.outbox.close()
    client.close()
    assert "not everything was sent: the outbox" in caplog.text
    sender._thread.join(20)
    assert not sender._thread.is_alive()


@pytest.mark.slow
def test_closing_takes_its_time_once(service: Service, make: Make) -> None:
    service.always = Fault(delay=8.0)
    client = make(service.url)
    client.reward("d", 1.0)
    until(lambda: bool(service.requests))
    begun = time.monotonic()
    client.close(timeout=2.0)
    assert 1.9 < time.monotonic() - begun < 7.0


def test_flush_and_close_may_wait_for_ever(service: Service, make: Make) -> None:
    client = make(service.url)
    client.reward("d", 1.0)
    assert client.flush(math.inf)
    client.close(math.inf)
    assert not of(client)._thread.is_alive()


CHILD = """
import multiprocessing, sys, foretell

def work():
    client = foretell.Client(sys.argv[1])
    for _ in range(50):
        client.reward("d", 1.0)

if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


def test_feedback_is_sent_when_a_forked_child_ends_without_closing(service: Service) -> None:
    service.faults.append(Fault(delay=0.3))
    subprocess.run([sys.executable, "-c", CHILD, service.url], check=True)
    assert len(service.events) == 50


def of(client: Any) -> Sender:
    """Return the sender of a client of either kind."""
    sender: Sender = getattr(client, "_client", client)._sender
    return sender
