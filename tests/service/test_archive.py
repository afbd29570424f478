"""Old months of a log in PostgreSQL become files; what comes later about them is late."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import duckdb
import pytest

from foretell.cli.archive import _archive_months
from foretell.errors import InvalidInput
from foretell.service.log.open import copy_log, open_archiver
from foretell.service.model.events import stamp
from tests.cli.in_process import foretell
from tests.service import engine_driver
from tests.service.engine_driver import START, TEST_CLOCK, Served
from tests.service.log.postgres_server import drop_database, made_database

DAY = 86_400.0
WINDOWS: dict[str, Any] = {"signal_window": 1.0, "reward_window": 2.0}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The name of a log that is kept in a database of PostgreSQL of its own."""
    path = tmp_path / "log.db"
    dsn = made_database(**TEST_CLOCK)
    monkeypatch.setitem(engine_driver._databases, path, dsn)
    monkeypatch.setattr(engine_driver, "LOG_ENGINE", ["postgres"])
    yield path
    drop_database(dsn)


def execute(path: Path, statement: str, *values: Any) -> None:
    async def connected() -> None:
        connection = await asyncpg.connect(engine_driver.database_of(path))
        try:
            await connection.execute(statement, *values)
        finally:
            await connection.close()

    asyncio.run(connected())


def live_through_months(served: Served, partition: bool) -> list[str]:
    """Stop one campaign in the first month, let another run on; return ids of the first."""
    if partition:  # else a month is sorted out of the rest when it is archived
        execute(served.path, "SELECT foretell.make_partitions($1)", stamp(START))
    served.create("old", **WINDOWS, sticky=True)
    ids = [
        served.decide("old", unit=f"unit {n}", context={"secret": f"context {n}"}).decision_id
        for n in range(150)
    ]
    for number, one in enumerate(ids[:70]):
        assert served.reward(one, 1.0, event_id=f"e{number}") == "accepted"
    served.pass_time(3.0)
    served.save_states()
    served.run(served.engine.set_status("old", "stopped"))
    served.pass_time(40 * DAY)
    served.create("new", **WINDOWS)
    for answer in served.decide_many(90, "new"):
        served.reward(answer.decision_id, 0.0)
    served.pass_time(100 * DAY)
    served.decide("new")
    served.save_states()
    return ids


def archive(served: Served, out: Path, days: int = 30) -> None:
    async def work() -> None:
        async with open_archiver(engine_driver.database_of(served.path)) as archiver:
            await _archive_months(served.engine.runtime.log, archiver, out, days)

    served.run(work())


@pytest.mark.parametrize("partition", [False, True])
def test_what_comes_after_its_month_was_archived_is_late_and_told_to_no_model(
    path: Path, capsys: pytest.CaptureFixture[str], partition: bool
) -> None:
    out = path.parent / "out"
    with Served(path) as served:
        ids = live_through_months(served, partition)
        before, known = served.report("old"), served.fingerprint("old")
        archive(served, out)
        said = capsys.readouterr().out
        (file,) = out.iterdir()
        assert f"records are in {file}" in said
        assert "stays: the campaign 'new' is not stopped" in said
        assert served.verify().damage == []
        for _ in range(2):
            assert served.reward(ids[100], 1.0, event_id="late") in ("late", "duplicate")
            assert served.signal(ids[3], "buy") == "late"
            assert served.reward(ids[3], 1.0, event_id="e3") == "duplicate"
            served.pass_time(1.0)
            assert served.fingerprint("old") == known
            assert served.report("old").actions == before.actions
            comparisons = {one.campaign: one.comparison for one in served.verify().campaigns}
            assert comparisons == {"old": "archived", "new": "same"}
            served.decide("new")
            served.restart()
        assert served.verify().damage == []
        archive(served, out)
        assert "stays" in capsys.readouterr().out
        assert list(out.iterdir()) == [file]
    rows = duckdb.execute("SELECT type, event FROM read_parquet(?)", [str(file)]).fetchall()
    kinds = [kind for kind, _ in rows]
    assert (kinds.count("Decided"), kinds.count("Feedback")) == (150, 70)
    assert not any(word in event for _, event in rows for word in ("unit ", "context ", "secret"))


def test_an_archived_log_is_checked_copied_and_found_damaged(path: Path, tmp_path: Path) -> None:
    dsn = engine_driver.database_of(path)
    with Served(path) as served:
        live_through_months(served, partition=False)
        archive(served, tmp_path / "out")
        log = served.engine.runtime.log
        records = served.run(log.records(0, 1 << 62, 10_000))
        served.run(log.backup(str(tmp_path / "copy")))
        served.run(log.restore(str(tmp_path / "copy")))
        assert served.run(log.records(0, 1 << 62, 10_000)) == records
        assert log.check().damage == []
    with pytest.raises(InvalidInput, match="is archived, and a copy would lack it"):
        copy_log(dsn, str(tmp_path / "file.db"))
    execute(path, "DELETE FROM foretell.events WHERE seq = $1", records[-50].seq)
    with Served(path) as served:
        assert any("changed, moved, removed" in one for one in served.verify().damage)


def test_a_month_with_open_windows_stays(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Served(path) as served:
        served.create(signal_window=1.0, reward_window=80 * DAY)
        served.decide()
        served.save_states()
        served.run(served.engine.set_status("c", "stopped"))
        served.pass_time(45 * DAY)
        served.create("other")
        archive(served, path.parent / "out", days=0)
        assert "windows of the campaign 'c' are open until" in capsys.readouterr().out
        assert not (path.parent / "out").exists()
        served.pass_time(90 * DAY)
        served.create("another")
        archive(served, path.parent / "out", days=0)
        assert "records are in" in capsys.readouterr().out


def test_a_month_of_a_campaign_without_a_saved_state_stays(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Served(path) as served:
        live_through_months(served, partition=True)
        execute(path, "DELETE FROM foretell.states")
        archive(served, path.parent / "out")
        said = "no state of 'old' is saved yet, as a server does within a minute"
        assert said in capsys.readouterr().out


def test_the_command_archives_a_log_that_nobody_serves(path: Path, tmp_path: Path) -> None:
    with Served(path) as served:
        ids = live_through_months(served, partition=True)
    out = str(tmp_path / "out")
    ran = foretell("archive", "--db", engine_driver.database_of(path), "--out", out)
    assert ran.returncode == 0, ran.stderr
    assert "records are in" in ran.stdout
    with Served(path) as served:
        assert served.signal(ids[3], "buy") == "late"
        assert served.verify().damage == []


def test_a_file_has_no_months(tmp_path: Path) -> None:
    ran = foretell("archive", "--db", str(tmp_path / "log.db"))
    assert ran.returncode == 2
    assert "which has no partitions: foretell archive is for a log in PostgreSQL" in ran.stderr
