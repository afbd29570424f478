"""The check of a database: whatever is changed next to the records is found as well."""

from __future__ import annotations

import asyncio
import errno
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from foretell.service.log.errors import Damaged, LogClosed
from foretell.service.log.open import open_reader
from foretell.service.log.protocol import Draft, SavedState
from foretell.service.log.sqlite import check
from foretell.service.log.sqlite.appender import RANK_EVERY
from foretell.service.log.sqlite.check import check_database
from foretell.service.log.sqlite.connection import connect
from foretell.service.log.sqlite.log import SqliteLog
from tests.service.log.engines import accepted, decide, decided, feedback

CHANGES = {
    "UPDATE keys SET key = x'00' WHERE seq = (SELECT min(seq) FROM keys)": "the keys that were",
    "DELETE FROM keys WHERE seq = (SELECT min(seq) FROM keys)": "the keys that were claimed",
    "UPDATE keys SET seq = seq + 1": "the keys that were claimed",
    "UPDATE units SET action = action + 1": "the keys that were claimed",
    "DELETE FROM units WHERE n = 1": "the keys that were claimed",
    "UPDATE ranks SET rank = rank + 1 WHERE rank > 0": "the rank of decision",
    "DELETE FROM ranks WHERE rank > 0": "the rank of decision",
    "UPDATE personal SET context = x'00' WHERE seq = (SELECT min(seq) FROM personal)": (
        "the context of record"
    ),
    "UPDATE states SET position = position + 1": "the state of campaign",
    "DELETE FROM links WHERE number = 2": "the link of record",
    "UPDATE links SET link = x'00' WHERE number = 2": "do not follow from one another",
    "UPDATE streams SET head = head + 2048": "the end of the log",
    "UPDATE streams SET claims = claims + 1": "the end of the log",
    "UPDATE events SET campaign = 2 WHERE seq = (SELECT min(seq) FROM events)": "its checksum",
    "UPDATE events SET decision = 0 WHERE seq = (SELECT max(seq) FROM events)": "its checksum",
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A database with something in every table."""
    name = str(tmp_path / "a.db")

    async def fill() -> None:
        log = SqliteLog(name)
        number = await decide(log)
        drafts = [Draft(1, decided(n)) for n in range(RANK_EVERY)]
        for n in range(3):
            drafts.append(feedback(1, number, f"e{n}"))
            drafts.append(Draft(1, decided(), unit=b"unit", unit_action=n, context=b"context"))
        await accepted(log, *drafts)
        await log.save_state(1, SavedState(log.now(), "a", b"state"))
        await log.close()

    asyncio.run(fill())
    return name


def test_a_sound_database_has_no_damage(path: str) -> None:
    paused: list[int] = []
    assert check_database(path, paused.append) == (263, 1, [])
    assert sum(paused) == 256


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_changed_next_to_the_records_is_found(path: str, change: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.execute(change)
        assert connection.total_changes() > 0
    assert any(CHANGES[change] in sentence for sentence in check_database(path).damage)


def test_a_decision_that_is_missing_is_noticed_by_its_rank(path: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.execute("DELETE FROM events WHERE seq = (SELECT seq FROM events LIMIT 1, 1)")
    with open_reader(path) as reader, pytest.raises(Damaged, match="a decision up to"):
        asyncio.run(reader.decisions_after(1, 0, 1000))


def test_a_claim_whose_record_is_gone_is_damage(path: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        connection.execute("DELETE FROM events WHERE seq = (SELECT min(seq) FROM keys)")
    with open_reader(path) as reader, pytest.raises(Damaged):
        asyncio.run(reader.by_key(1, [b"e:e0"]))


def test_pages_that_are_damaged_are_said(path: str) -> None:
    with closing(apsw.Connection(path)) as connection:
        found: Any = connection.execute("SELECT pageno FROM dbstat WHERE name = 'events'")
        pages = [page for (page,) in found]
    content = bytearray(Path(path).read_bytes())
    for page in pages:
        content[(page - 1) * 4096 : (page - 1) * 4096 + 8] = b"\xff" * 8
    Path(path).write_bytes(content)
    assert any("the database is damaged" in one for one in check_database(path).damage)
    with open_reader(path) as reader, pytest.raises(Damaged, match="the database is damaged"):
        asyncio.run(reader.records(0, 1 << 62, 1000))


def test_a_database_is_checked_while_it_is_written(tmp_path: Path) -> None:
    async def run() -> None:
        log = SqliteLog(str(tmp_path / "a.db"))

        async def write() -> None:
            while not checking.done():
                number = await decide(log)
                await log.append([feedback(1, number, f"{number}")])

        checks = [asyncio.to_thread(log.check) for _ in range(3)]
        checking = asyncio.ensure_future(asyncio.gather(*checks))
        await asyncio.gather(*(write() for _ in range(4)))
        assert [found.damage for found in await checking] == [[], [], []]
        await log.close()
        assert log.check().damage == []

    asyncio.run(run())


@pytest.mark.parametrize(
    "error",
    [
        apsw.NoMemError("out of memory"),
        apsw.CantOpenError("unable to open database file"),
        apsw.IOError("disk I/O error"),
        apsw.BusyError("database is locked"),
        OSError(errno.EMFILE, "Too many open files"),
        MemoryError(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("part", ["_records", "_pages", "_journal", "connect"])
def test_what_may_pass_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, part: str
) -> None:
    path = str(tmp_path / "a.db")
    connect(path, write=True).close()
    assert check_database(path).damage == []

    def fail(*_: object, **__: object) -> Any:
        raise error

    monkeypatch.setattr(check, part, fail)
    with pytest.raises(LogClosed, match="cannot be used now"):
        check_database(path)
