"""`foretell verify`: what is sound passes, what is damaged is named."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from foretell.service.log.record import state_digest
from foretell.service.model.events import moment
from foretell.service.model.snapshot import pack, unpack
from foretell.service.model.timestamps import format_timestamp
from tests.cli.in_process import foretell
from tests.service import server_process
from tests.service.server_process import CAMPAIGN, Server

pytestmark = pytest.mark.slow
EVENTS = 300


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
            assert server.ask("POST", "/v1/campaigns/one/refit")[0] == 202
            while server.ask("GET", "/v1/campaigns/one")[1]["refit"] is not None:
                time.sleep(0.01)
            assert server.ask("POST", "/v1/campaigns/two/actions", {"action": "c"})[0] == 201


def damaged(database: Path, folder: Path, statement: str) -> Path:
    """Return a copy that somebody has changed; `:one` is a record between others."""
    copy = folder / "foretell.db"
    shutil.copy(database, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        (one,) = connection.execute(
            "SELECT seq FROM events ORDER BY seq LIMIT 1 OFFSET 40"
        ).fetchone()
        assert connection.execute(statement, {"one": one}).rowcount == 1
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
        checked = server_process.foretell("verify", cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout
        assert server.ask("POST", "/v1/campaigns/one/decisions")[0] == 201


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (
            "UPDATE events SET body = zeroblob(length(body)) WHERE seq = :one",
            r"record \d{19} does not match its checksum",
        ),
        ("UPDATE events SET seq = seq + 2048 WHERE seq = :one", r"record \d{19} does not match"),
        ("DELETE FROM events WHERE seq = :one", "one was changed, moved, removed or added"),
        (
            "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events)",
            r"does not end as it did: a record after \d{19} was cut off",
        ),
        (
            "UPDATE links SET link = zeroblob(16) WHERE number = 2",
            "one was changed, moved, removed or added",
        ),
        ("UPDATE streams SET head = head + 2048", "the end of the log, stored as"),
        (
            "DELETE FROM keys WHERE key = (SELECT key FROM keys WHERE campaign = 1 LIMIT 1)",
            "the keys that were claimed do not match their checksum",
        ),
        (
            "UPDATE ranks SET rank = 7 WHERE campaign = 2 AND rank = 0",
            r"the rank of decision \d{19} of campaign 2 is wrong or missing",
        ),
        (
            "UPDATE personal SET unit = zeroblob(16) WHERE seq = (SELECT min(seq) FROM personal)",
            r"the context of record \d{19} does not match its checksum",
        ),
        (
            "UPDATE states SET digest = zeroblob(16) WHERE campaign = 2",
            r"the state of campaign 2 as of \d{19} does not match its checksum",
        ),
    ],
)
def test_what_is_damaged_is_named(
    database: Path, tmp_path: Path, statement: str, sentence: str
) -> None:
    checked = foretell("verify", "--db", str(damaged(database, tmp_path, statement)))
    assert checked.returncode == 1
    assert re.search(sentence, checked.stdout), checked.stdout
    assert "Traceback" not in checked.stderr


def test_a_state_that_the_log_does_not_give_is_found(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "foretell.db"
    shutil.copy(database, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        position, version, body = connection.execute(
            "SELECT position, version, body FROM states WHERE campaign = 2"
        ).fetchone()
        campaign = unpack(version, body)
        assert campaign is not None
        campaign.counters.counts[0] += 1
        other = pack(campaign)
        connection.execute(
            "UPDATE states SET body = ?, digest = ? WHERE campaign = 2",
            (other, state_digest(2, position, version, other)),
        )
    checked = foretell("verify", "--db", str(copy))
    assert checked.returncode == 1
    as_of = format_timestamp(moment(position))
    assert f"'two', built from the log, differs from its state as of {as_of}" in checked.stdout


def test_what_is_no_database_is_damage(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database " * 500, "utf-8")
    checked = foretell("verify", "--db", "text.db", cwd=tmp_path)
    assert checked.returncode == 1
    assert "is no foretell database, or is damaged" in checked.stdout
