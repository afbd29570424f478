"""The writer: what queues shares a transaction, and the journal stays small."""

from __future__ import annotations

import asyncio
import string
from contextlib import closing
from pathlib import Path
from random import Random

import apsw
import pytest

from foretell.service.log.protocol import Draft
from foretell.service.log.sqlite import tail as tails
from foretell.service.log.sqlite.log import SqliteLog
from foretell.service.model.events import Decided
from tests.service.log.engines import ADMIN, accepted, decide, decided, feedback, read_all
from tests.torture.disk import Disk

BYTES_PER_DECISION = 343
"""What a decision with its signal and its reward took before records had stamps."""


def test_appends_that_queue_share_a_commit(tmp_path: Path) -> None:
    async def run() -> None:
        log = SqliteLog(str(tmp_path / "a.db"))
        before = log.gauges().commits
        await asyncio.gather(*(decide(log, nonce=n) for n in range(500)))
        assert log.gauges().commits - before < 50
        assert log.gauges().commit_seconds > 0
        await log.close()

    asyncio.run(run())


def test_the_event_loop_never_waits_for_the_disk(tmp_path: Path) -> None:
    """While a transaction waits for a lock, others have their turn."""
    path = str(tmp_path / "a.db")

    async def run() -> None:
        log = SqliteLog(path)
        await decide(log)
        with closing(apsw.Connection(path)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(decide(log))
            for _ in range(20):
                await asyncio.sleep(0.001)
            assert not waiting.done()
            assert log.gauges().queued == 1
            other.execute("COMMIT")
        await waiting
        await log.close()

    asyncio.run(run())


@pytest.mark.parametrize("relaxed", [True, False])
def test_relaxed_decisions_alone_wait_for_no_disk(tmp_path: Path, relaxed: bool) -> None:
    disk = Disk(tmp_path / "live.db")
    syncs = 0

    def count(operation: str, ending: str, number: int) -> None:
        nonlocal syncs
        syncs += (operation, ending) == ("sync", "-wal")

    async def run() -> None:
        nonlocal syncs
        log = SqliteLog(str(tmp_path / "live.db"), relaxed=relaxed, vfs=disk.name)
        await accepted(log, ADMIN)
        disk.fault = count
        await decide(log)
        assert syncs == (not relaxed)
        syncs = 0
        await accepted(log, Draft(1, decided()), ADMIN)
        assert syncs == 1
        disk.fault = lambda *_: None
        await log.close()

    asyncio.run(run())


def test_the_journal_is_moved_to_the_database(tmp_path: Path) -> None:
    async def run() -> None:
        log = SqliteLog(str(tmp_path / "a.db"))
        log._database._writer.checkpoint_pages = 20
        for n in range(300):
            await decide(log, nonce=n)
        assert (tmp_path / "a.db-wal").stat().st_size < 100 * 4096
        await log.close()

    asyncio.run(run())


def is_stored(folder: Path, words: bytes) -> bool:
    """Return whether words are in any file of a folder."""
    return any(words in one.read_bytes() for one in folder.iterdir())


def test_what_was_erased_is_in_no_file(tmp_path: Path) -> None:
    async def run() -> None:
        log = SqliteLog(str(tmp_path / "a.db"))
        secret = Draft(1, decided(), unit=b"the unit", unit_action=0, context=b"the context")
        await accepted(log, secret, Draft(1, decided(), unit=b"another", context=b"another"))
        assert is_stored(tmp_path, b"the context")
        assert await log.erase(1, b"the unit") == 1
        assert not is_stored(tmp_path, b"the context")
        assert not is_stored(tmp_path, b"the unit")
        assert is_stored(tmp_path, b"another")
        await log.close()

    asyncio.run(run())


def test_what_is_erased_while_others_read_leaves_the_journal_later(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")

    async def run() -> None:
        log = SqliteLog(path)
        await accepted(log, Draft(1, decided(), unit=b"the unit", context=b"the context"))
        with closing(apsw.Connection(path)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM events").fetchall()
            assert await log.erase(1, b"the unit") == 1
            assert is_stored(tmp_path, b"the context")
        await decide(log)
        await decide(log)
        assert not is_stored(tmp_path, b"the context")
        await log.close()

    asyncio.run(run())


def test_a_follower_that_is_slow_reads_from_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tails, "BUFFERED_RECORDS", 50)
    monkeypatch.setattr(tails, "RECORDS_PER_READ", 40)

    async def run() -> None:
        log = SqliteLog(str(tmp_path / "a.db"))
        tail, complete = log.tail(0), 0
        found = (await anext(tail)).records
        for size in (10, 30, 60, 5, 200, 1):
            await accepted(log, *[ADMIN] * size)
            total = len(found) + size
            while len(found) < total:
                item = await anext(tail)
                assert all(complete <= record.seq < item.upto for record in item.records)
                complete = item.upto
                found += item.records
        assert found == await read_all(log)
        await log.close()

    asyncio.run(run())


def test_a_decision_with_its_feedback_takes_no_more_room_than_before(tmp_path: Path) -> None:
    """With ids of 16 characters, in an order that no index likes."""
    rng, path = Random(1), tmp_path / "a.db"  # noqa: S311  (no secret)

    def event_id() -> str:
        return "".join(rng.choices(string.ascii_letters + string.digits, k=16))

    def draw() -> Decided:
        return Decided(1, rng.randrange(5), rng.random(), 0, 5, rng.getrandbits(64), 1 << 61)

    async def run() -> int:
        log = SqliteLog(str(path))
        total = 0
        for _ in range(40):
            numbers = [one.seq for one in await accepted(log, *[Draft(1, draw())] * 100)]
            for _ in ("signal", "reward"):
                await accepted(log, *(feedback(1, number, event_id()) for number in numbers))
            total += len(numbers)
        await log.close()
        return total

    decisions = asyncio.run(run())
    assert path.stat().st_size / decisions <= BYTES_PER_DECISION
