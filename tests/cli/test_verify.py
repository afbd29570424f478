"""`foretell verify`: what is sound passes, what is damaged is named."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from foretell.service.log.record import snapshot_digest
from foretell.service.model.snapshot import pack, unpack
from tests.service.server_process import CAMPAIGN, Server, foretell

pytestmark = pytest.mark.slow
EVENTS = 300
NEWEST = (
    "UPDATE {} WHERE campaign = 2 AND seq = (SELECT max(seq) FROM snapshots WHERE campaign = 2)"
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the database of a server that has worked and is stopped."""
    folder = tmp_path_factory.mktemp("verify")
    with Server(folder) as server:
        fill(server)
    return folder / "foretell.db"


def fill(server: Server) -> None:
    """Make two campaigns, decisions, feedback, a change and a refit."""
    quick = {"signal_window": 0.2, "reward_window": 0.4}
    for name, policy in [("one", "nsd-adaptive"), ("two", "ucb")]:
        assert (
            server.ask(
                "POST", "/v1/campaigns", CAMPAIGN | quick | {"name": name, "policy": policy}
            )[0]
            == 201
        )
    for place in range(EVENTS):
        name = ("one", "two")[place % 2]
        _, made = server.ask("POST", f"/v1/campaigns/{name}/decisions", {"unit": f"u{place}"})
        feedback = f"/v1/decisions/{made['decision_id']}"
        if place % 3 == 0:
            server.ask("POST", f"{feedback}/signal", {"signal": "click"})
        if place % 5 == 0:
            server.ask("POST", f"{feedback}/reward", {"value": 1.0, "event_id": f"r{place}"})
        if place == EVENTS // 2:
            assert server.ask("POST", "/v1/campaigns/one/refit")[0] == 200
            assert server.ask("POST", "/v1/campaigns/two/actions", {"action": "c"})[0] == 201


def damaged(database: Path, folder: Path, statement: str) -> Path:
    """Return a copy that somebody has changed."""
    copy = folder / "foretell.db"
    shutil.copy(database, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        assert connection.execute(statement).rowcount == 1
    return copy


def test_a_sound_database_is_proven(database: Path) -> None:
    checked = foretell("verify", "--db", str(database), "--json")
    assert checked.returncode == 0, checked.stdout
    report = json.loads(checked.stdout)
    assert [(one["campaign"], one["comparison"]) for one in report["campaigns"]] == [
        ("one", "same"),
        ("two", "same"),
    ]
    assert report["damage"] == []
    assert report["records"] > EVENTS
    assert "Nothing is damaged." in foretell("verify", "--db", str(database)).stdout


def test_a_database_is_checked_while_it_is_used(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        fill(server)
        checked = foretell("verify", cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout
        assert server.ask("POST", "/v1/campaigns/one/decisions")[0] == 201


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "UPDATE events SET body = zeroblob(length(body)) WHERE seq = 40",
            "record 40 does not match its checksum",
        ),
        ("UPDATE events SET link = zeroblob(16) WHERE seq = 41", "record 41 does not follow"),
        ("DELETE FROM events WHERE seq = 42", "record 42 is missing"),
        (
            "UPDATE personal SET unit = zeroblob(16) WHERE seq = (SELECT min(seq) FROM personal)",
            "the context of record 5 does not match its checksum",
        ),
        (
            NEWEST.format("snapshots SET digest = zeroblob(32)"),
            "the snapshot of campaign 2 at record ",
        ),
    ],
)
def test_what_is_damaged_is_named(
    database: Path, tmp_path: Path, statement: str, sentence: str
) -> None:
    checked = foretell("verify", "--db", str(damaged(database, tmp_path, statement)))
    assert checked.returncode == 1
    assert sentence in checked.stdout
    assert "Traceback" not in checked.stderr


def test_a_snapshot_that_the_log_does_not_give_is_found(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "foretell.db"
    shutil.copy(database, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        seq, body = connection.execute(
            "SELECT max(seq), body FROM snapshots WHERE campaign = 2"
        ).fetchone()
        campaign = unpack(body)
        assert campaign is not None
        campaign.counters.counts[0] += 1
        connection.execute(
            "UPDATE snapshots SET body = ?, digest = ? WHERE campaign = 2 AND seq = ?",
            (pack(campaign), snapshot_digest(2, seq, pack(campaign)), seq),
        )
    checked = foretell("verify", "--db", str(copy))
    assert checked.returncode == 1
    assert f"'two', built from the log, differs from its snapshot at record {seq}" in checked.stdout


def test_what_is_no_database_is_damage(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database " * 500, "utf-8")
    checked = foretell("verify", "--db", "text.db", cwd=tmp_path)
    assert checked.returncode == 1
    assert "is no foretell database, or is damaged" in checked.stdout
