"""`foretell feedback` sends a file once, whatever it is broken off by, and says what was wrong."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.cli.in_process import foretell
from tests.service.server_process import CAMPAIGN, KEY, Server, environment

feedback = import_module("foretell.cli.feedback")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("feedback")) as running:
        running.ask("POST", "/v1/campaigns", CAMPAIGN)
        yield running


def decisions(server: Server, count: int) -> list[str]:
    path = "/v1/campaigns/home-hero/decisions"
    return [server.ask("POST", path, {})[1]["decision_id"] for _ in range(count)]


def events_of(server: Server, decision: str) -> dict[str, Any]:
    """Return the signal or value of every event about a decision, by its id."""
    events = server.ask("GET", f"/v1/decisions/{decision}")[1]["events"][1:]
    return {one["event_id"]: one.get("signal", one.get("value")) for one in events}


def send(server: Server, *arguments: str) -> CompletedProcess[str]:
    return foretell("feedback", *arguments, "--url", server.url, "--key", KEY)


def write_csv(path: Path, *lines: str) -> str:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


def as_csv(path: Path, rows: list[dict[str, Any]]) -> str:
    lines = [",".join(str(value) for value in row.values()) for row in rows]
    return write_csv(path, ",".join(rows[0]), *lines)


def as_json(path: Path, rows: list[dict[str, Any]]) -> str:
    return write_csv(path, *(json.dumps(row) for row in rows))


def as_parquet(path: Path, rows: list[dict[str, Any]]) -> str:
    import duckdb

    source = as_json(path.with_suffix(".source"), rows)
    with duckdb.connect() as connection:
        columns = "* REPLACE (event_time::TIMESTAMP AS event_time)"
        connection.read_json(source).select(columns).write_parquet(str(path))
    return str(path)


@pytest.mark.parametrize("write", [as_csv, as_json, as_parquet])
def test_a_file_is_sent_once_with_its_columns_guessed(
    server: Server, tmp_path: Path, write: Callable[[Path, list[dict[str, Any]]], str]
) -> None:
    first, second = decisions(server, 2)
    name = write.__name__
    rows = [
        {"Decision ID": first, "reward": 0.5, "event_time": "2026-01-02T03:04:05Z", "shop": "x"},
        {"Decision ID": second, "reward": 1.0, "event_time": "2026-01-02T03:04:05Z", "shop": "x"},
    ]
    path = write(tmp_path / name, rows)
    done = send(server, path)
    assert done.returncode == 0, done.stderr
    assert "decision_id is the column 'Decision ID', by its name" in done.stderr
    assert "value is the column 'reward', by its name" in done.stderr
    assert "occurred_at is the column 'event_time', by its name" in done.stderr
    assert "event_id is made from each whole row" in done.stderr
    assert "not read: 'shop'" in done.stderr
    assert done.stdout.startswith("2 events: 2 accepted.")
    assert list(events_of(server, first).values()) == [0.5]
    assert list(events_of(server, second).values()) == [1.0]
    again = send(server, path)
    assert again.stdout.startswith("2 events: 2 duplicate.")
    assert list(events_of(server, second).values()) == [1.0]
    assert [one.name for one in tmp_path.glob(f"{name}.*") if one.suffix != ".source"] == []


def test_flags_name_columns_and_a_row_may_be_two_events(server: Server, tmp_path: Path) -> None:
    (decision,) = decisions(server, 1)
    path = write_csv(tmp_path / "f.csv", "d,what,worth,id", f"{decision},click,1,o1")
    flags = ("--decision-id", "d", "--signal", "what", "--value", "worth", "--event-id", "id")
    done = send(server, path, *flags)
    assert done.returncode == 0, done.stderr
    assert "decision_id is the column 'd'\n" in done.stderr
    assert "the event_id of its signal ends in '-signal'" in done.stderr
    assert events_of(server, decision) == {"o1-signal": "click", "o1": 1.0}


def test_lines_may_be_different_events_and_keep_their_ids(server: Server, tmp_path: Path) -> None:
    (decision,) = decisions(server, 1)
    rows: list[dict[str, Any]] = [
        {"decision_id": decision, "signal": "click", "event_id": "c-7"},
        {"decision_id": decision, "value": 0.25, "event_id": 7},
        {"decision_id": decision, "kind": "adjust", "target": "7", "value": 1, "event_id": "a-7"},
    ]
    done = send(server, as_json(tmp_path / "mixed.ndjson", rows))
    assert done.returncode == 0, done.stderr
    assert events_of(server, decision) == {"c-7": "click", "7": 0.25, "a-7": 1.0}


def test_what_is_rejected_is_said_and_can_be_sent_again(server: Server, tmp_path: Path) -> None:
    first, second = decisions(server, 2)
    path = tmp_path / "f.ndjson"
    lines = [
        json.dumps({"decision_id": first, "signal": "click", "event_id": "fine"}),
        json.dumps({"decision_id": second, "signal": "download", "shop": "x"}),
        json.dumps({"decision_id": "forged", "value": 1.0}),
        "{oh no",
        json.dumps({"decision_id": first, "value": "much"}),
        json.dumps({"value": 1.0}),
        '{"decision_id": "\\ud800", "value": 1.0}',
    ]
    done = send(server, write_csv(path, *lines))
    assert done.returncode == 1
    assert "7 events: 1 accepted, 6 rejected." in done.stdout
    rejected = tmp_path / "f.ndjson.rejected.ndjson"
    assert repr(str(rejected)) in done.stdout
    found = [json.loads(line) for line in rejected.read_text("utf-8").splitlines()]
    reasons = {one["rejected_line"]: one["rejected_because"] for one in found}
    assert list(reasons) == [2, 3, 4, 5, 6, 7]
    assert "there is no signal 'download'" in reasons[2]
    assert "decision" in reasons[3]
    assert "line 4 of" in reasons[4]
    assert "must be a JSON object in UTF-8, got '{oh no'" in reasons[4]
    assert "value must be a number, got 'much'" in reasons[5]
    assert "line 6 of" in reasons[6]
    assert "has no decision_id" in reasons[6]
    assert found[0]["shop"] == "x"
    patch = {"signals": ["none", "click", "download"]}
    assert server.ask("PATCH", "/v1/campaigns/home-hero", patch)[0] == 200
    mended = send(server, str(rejected))
    assert "6 events: 1 accepted, 5 rejected." in mended.stdout
    assert events_of(server, second) == {found[0]["event_id"]: "download"}
    again = send(server, str(path), "--restart")
    assert "7 events: 2 duplicate, 5 rejected." in again.stdout
    assert len(rejected.read_text("utf-8").splitlines()) == 5


@pytest.mark.parametrize(
    ("content", "arguments", "sentence"),
    [
        ("decision_id,shop\nd,1\n", (), "has no column 'signal', 'value' or 'kind'"),
        ("who,value\nd,1\n", (), "has no column 'decision_id', got 'who', 'value': name it with"),
        ("decision_id;value\nd;1\n", (), "separate the columns by commas, not by semicolons"),
        ("decision_id,value\nd,1\n", ("--value", "worth"), "there is no column in"),
        ("decision_id,value,value\nd,1,2\n", (), "two columns 'value'"),
        ("", (), "is empty"),
        ('[{"decision_id": "d"}]', (), "must be JSON lines, got a list"),
        ("decision_id,value\nd,1\n", ("--key", "ftk_wrong"), "says: "),
        ("decision_id,value\nd,1\n", ("--key", ""), "a service wants a key"),
        ("decision_id,value\nd,1\n", ("--rejected", "f"), "rejected rows would replace 'f'"),
    ],
)
def test_a_bad_file_or_key_is_named_in_one_sentence(
    server: Server, tmp_path: Path, content: str, arguments: tuple[str, ...], sentence: str
) -> None:
    path = tmp_path / "f"
    path.write_text(content, "utf-8")
    place = ("--url", server.url, "--key", KEY)
    done = foretell("feedback", "f", *place, *arguments, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert sentence in done.stderr.splitlines()[-1]


def test_a_service_that_never_answered_is_not_waited_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("foretell.client.batches.FIRST_RETRY_SECONDS", 0.01)
    path = write_csv(tmp_path / "f.csv", "decision_id,value", "d,1")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = foretell("feedback", path, "--url", url, "--key", KEY)
    assert done.returncode == 2
    assert "check the address, and that the service is running" in done.stderr


def test_a_file_that_is_all_wrong_stops_early(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback, "MAX_BATCH_EVENTS", 10)
    few = send(server, write_csv(tmp_path / "few.csv", "decision_id,value", "forged,1"))
    assert (few.returncode, few.stdout.startswith("1 events: 1 rejected.")) == (1, True)
    (tmp_path / "few.csv").unlink()
    (tmp_path / "few.csv.rejected.ndjson").unlink()
    path = write_csv(tmp_path / "f.csv", "decision_id,value", *["forged,1"] * 50)
    done = send(server, path)
    assert done.returncode == 2
    assert "all of the first 9 rows are rejected, the first of them because" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "f.csv"]


def test_a_file_that_was_changed_begins_again(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feedback, "MAX_BATCH_EVENTS", 10)
    (decision,) = decisions(server, 1)
    rows = [{"decision_id": decision, "value": 0.01, "event_id": f"n{n}"} for n in range(30)]
    path = as_csv(tmp_path / "f.csv", rows)

    def broken(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("foretell.cli.feedback_progress.FeedbackProgress.finished", broken)
    stopped = send(server, path)
    assert stopped.returncode == 130
    monkeypatch.undo()
    same = send(server, path)
    assert "Going on after line 31 of" in same.stderr
    assert "30 events: 30 accepted." in same.stdout
    monkeypatch.setattr("foretell.cli.feedback_progress.FeedbackProgress.finished", broken)
    send(server, path)
    monkeypatch.undo()
    as_csv(tmp_path / "f.csv", [*rows, {"decision_id": decision, "value": 0, "event_id": "new"}])
    changed = send(server, path)
    assert "beginning with the first row" in changed.stderr
    assert "31 events: 1 accepted, 30 duplicate." in changed.stdout


def test_a_rate_is_kept(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that only sleeping moves: 50 events at 20 a second take at least 1.5 s."""
    (decision,) = decisions(server, 1)
    rows = [{"decision_id": decision, "value": 0.01, "event_id": f"r{n}"} for n in range(50)]
    now = 0.0

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return now

        @staticmethod
        def sleep(seconds: float) -> None:
            nonlocal now
            now += seconds

    monkeypatch.setattr(feedback, "time", Clock)
    assert send(server, as_csv(tmp_path / "f.csv", rows), "--rate", "20").returncode == 0
    assert 1.5 <= now <= 2.5


def test_a_dry_run_sends_nothing(server: Server, tmp_path: Path) -> None:
    (decision,) = decisions(server, 1)
    path = write_csv(tmp_path / "f.csv", "decision_id,value", f"{decision},1", f"{decision},x")
    done = foretell("feedback", path, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "1 events, 1 rows that cannot be sent; nothing was sent." in done.stdout
    assert "line 3 of" in done.stdout
    assert events_of(server, decision) == {}


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_what_was_broken_off_goes_on(server: Server, tmp_path: Path, how: int) -> None:
    """Killed after some batches, with a rejected row in front: all arrive, each once."""
    (decision,) = decisions(server, 1)
    rows = [{"decision_id": decision, "value": 0.001, "event_id": f"{how}-{n}"} for n in range(400)]
    rows[3] = {**rows[3], "decision_id": "forged"}
    path = as_csv(tmp_path / "f.csv", rows)
    command = [sys.executable, "-m", "foretell", "feedback", path, "--rate", "20"]
    position = tmp_path / "f.csv.feedback-progress"
    with subprocess.Popen(
        [*command, "--url", server.url, "--key", KEY],
        env=environment(),
        stderr=subprocess.DEVNULL,
    ) as sending:
        end = time.monotonic() + 60
        while not position.exists():
            assert time.monotonic() < end
            assert sending.poll() is None
            time.sleep(0.01)
        sending.send_signal(how)
        assert sending.wait(60) == (130 if how == signal.SIGINT else -how)
    assert 0 < len(events_of(server, decision)) < 399
    rejected = tmp_path / "f.csv.rejected.ndjson"
    with rejected.open("a") as file:  # as if it was killed before the position was kept
        file.write('{"half a li')
    done = send(server, path)
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert "Going on after line" in done.stderr
    assert len(events_of(server, decision)) == 399
    assert json.loads(rejected.read_text("utf-8"))["rejected_line"] == 5
    assert not position.exists()


@pytest.mark.slow
def test_a_server_that_is_started_again_is_waited_for(tmp_path: Path) -> None:
    with Server(tmp_path) as first:
        first.ask("POST", "/v1/campaigns", CAMPAIGN)
        (decision,) = decisions(first, 1)
        rows = [{"decision_id": decision, "value": 0.001, "event_id": f"n{n}"} for n in range(240)]
        path = as_csv(tmp_path / "f.csv", rows)
        command = [sys.executable, "-m", "foretell", "feedback", path, "--rate", "30"]
        sending = subprocess.Popen(
            [*command, "--url", first.url, "--key", KEY],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert sending.stderr is not None
        end = time.monotonic() + 60
        while not (tmp_path / "f.csv.feedback-progress").exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        first.stop(signal.SIGKILL)
        while "Waiting, and trying again" not in (line := sending.stderr.readline()):
            assert line, "it ended"
    with Server(tmp_path, "--port", first.url.rpartition(":")[2]) as second:
        printed, _ = sending.communicate(timeout=60)
        assert sending.returncode == 0, printed
        assert printed.startswith("240 events: ")
        assert len(events_of(second, decision)) == 240
