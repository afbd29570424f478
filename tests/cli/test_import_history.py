"""`foretell import` warm-starts a campaign of a running server, from every kind of file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from foretell.cli import cli
from foretell.cli.history_file import read_history
from foretell.client import history_parts
from foretell.client.history_parts import digest_of
from foretell.errors import ForetellError, InvalidInput
from tests.service.engine.test_evaluations import run_campaign, write_export
from tests.service.engine_driver import Served
from tests.service.server_process import CAMPAIGN, KEY, Server

import_history_command = import_module("foretell.cli.import_history")
ROWS: list[dict[str, Any]] = [
    {"action": "a", "signal": "none", "reward": 0.0, "decided_at": "2025-01-01T00:00:00Z"},
    {"action": "b", "signal": "click", "reward": 1.0, "decided_at": "2025-01-02T00:00:00Z"},
    {"action": "b", "signal": "click", "decided_at": "2025-01-03T00:00:00Z"},
]


def csv_file(folder: Path, *lines: str) -> str:
    path = folder / "log.csv"
    head = "action,signal,reward,decided_at,country"
    path.write_text("\n".join((head, *lines)) + "\n", "utf-8")
    return str(path)


def whole_csv(folder: Path) -> str:
    lines = [
        f"{row['action']},{row['signal']},{row.get('reward', '')},{row['decided_at']},de"
        for row in ROWS
    ]
    return csv_file(folder, *lines)


def json_file(folder: Path) -> str:
    path = folder / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)) + "\n\n", "utf-8")
    return str(path)


def parquet_file(folder: Path) -> str:
    import duckdb

    path = folder / "log.parquet"
    with duckdb.connect() as connection:
        rows = connection.read_json(json_file(folder))
        rows.select("action, signal, reward, decided_at::TIMESTAMP AS decided_at").write_parquet(
            str(path)
        )
    return str(path)


KINDS = (whole_csv, json_file, parquet_file)


@pytest.mark.parametrize("make", KINDS)
def test_every_kind_of_file_says_the_same(tmp_path: Path, make: Any) -> None:
    found = read_history(make(tmp_path))
    fields = [(one.action, one.signal, one.reward) for one in found.rows]
    assert fields == [(row["action"], row["signal"], row.get("reward")) for row in ROWS]
    days = [(one.decided_at or "")[:10] for one in found.rows]
    assert days == ["2025-01-01", "2025-01-02", "2025-01-03"]


def test_the_same_log_has_the_same_id_in_every_kind_of_file(tmp_path: Path) -> None:
    ids = {digest_of(read_history(make(tmp_path)).rows) for make in KINDS}
    assert len(ids) == 1


@pytest.mark.parametrize("parquet", [False, True])
def test_an_export_is_read_with_its_outcomes(tmp_path: Path, parquet: bool) -> None:
    path = tmp_path / "export"
    with Served(tmp_path / "a.db", compiled=False) as served:
        run_campaign(served, 60)
        settled = served.report().counts
        served.run(write_export(served, path, parquet=parquet))
    found = read_history(str(path))
    assert len(found.rows) + found.left_out == 60
    assert found.left_out >= settled.voided > 0
    assert {one.action for one in found.rows} == {"a", "b", "c"}
    assert {one.signal for one in found.rows} == {"none", "buy"}
    assert all(one.propensity for one in found.rows)
    assert any(one.reward for one in found.rows)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["a,none,one,"], "line 2 of"),
        (["a,none,nan,"], "reward must be a number, got 'nan'"),
        (["a,none,1,", "b,,1,"], "line 3 of"),
        (["a,none,1,", "b,,1,"], "signal is missing"),
        (["a,none,1_0,"], "reward must be a number, got '1_0'"),
        (["a,none,0,5,,de"], "line 2 of .* has 6 values, and the file 5 columns"),
        ([], "holds no decision"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(
    tmp_path: Path, lines: list[str], sentence: str
) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        read_history(csv_file(tmp_path, *lines))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("when,what\n1,2\n", "has no column 'action', got 'when', 'what'"),
        ("", "is empty: name another file"),
        ("\ufeff\n \n", "is empty: name another file"),
        ("action;signal\na;x\n", "separate the columns by commas, not by semicolons"),
        ("action,signal,reward,reward\na,x,1,0\n", "has 2 columns 'reward'"),
        ("action,signal,Reward\na,x,1\n", "has 'Reward' and no 'reward': rename it"),
        ('[{"action": "a", "signal": "x"}]\n', "must be JSON lines, got a list"),
        ('{"action": "a", "signal": "x", "rewrad": 1}\n', "has 'rewrad' and no 'reward'"),
        ('{"action": ' + 100_000 * "[" + "\n", "line 1 of .* must be a JSON object"),
        ('{"action": "a", "signal": "x"}\n[1]\n', "line 2 of .* must be a JSON object"),
        ('{"action": "a", "signal": 3}\n', "line 1 of .*signal must be"),
        ('{"action": "a", "signal": "x", "propensity": 2}\n', "propensity must be"),
    ],
)
def test_a_file_that_is_no_history_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "log"
    path.write_text(content, "utf-8")
    with pytest.raises(InvalidInput, match=sentence):
        read_history(str(path))


@pytest.mark.parametrize("content", [b"action,signal\ncaf\xe9,x\n", b'{"action": "caf\xe9"}\n'])
def test_text_that_is_not_utf_8_is_refused_as_such(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(InvalidInput, match="in UTF-8"):
        read_history(str(tmp_path / "log"))


@pytest.mark.parametrize("make", [whole_csv, json_file])
def test_a_mark_of_utf_8_is_no_part_of_the_text(tmp_path: Path, make: Any) -> None:
    path = Path(make(tmp_path))
    plain = read_history(str(path)).rows
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_history(str(path)).rows == plain


def test_columns_that_are_nobodys_mistake_are_ignored(tmp_path: Path) -> None:
    names = ("decided_by", "created_at", "country", "Signals shown")
    path = tmp_path / "log.csv"
    path.write_text(f"action,signal,{','.join(names)}\na,x,1,2,3,4\n", "utf-8")
    assert len(read_history(str(path)).rows) == 1


def test_numbers_that_a_parquet_file_has_as_text_are_read_or_named(tmp_path: Path) -> None:
    import duckdb

    path = str(tmp_path / "log.parquet")
    for reward, sentence in (("0.5", None), ("x", "row 1 of .* reward must be a number, got 'x'")):
        with duckdb.connect() as connection:
            rows = connection.sql(f"SELECT 'a' AS action, 'none' AS signal, '{reward}' AS reward")
            rows.write_parquet(path)
        if sentence is None:
            assert read_history(path).rows[0].reward == 0.5
            continue
        with pytest.raises(InvalidInput, match=sentence):
            read_history(path)


def test_an_export_whose_first_record_is_long_is_one(tmp_path: Path) -> None:
    path = tmp_path / "export.ndjson"
    with Served(tmp_path / "a.db", compiled=False) as served:
        served.create(actions=[f"{'a' * 60}-{n}" for n in range(1200)], signals=["click"])
        served.run(write_export(served, path, parquet=False))
    assert len(path.read_bytes()) > 1 << 16
    with pytest.raises(InvalidInput, match="holds no decision of which something is known"):
        read_history(str(path))


def test_no_file_no_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORETELL_URL", raising=False)
    for arguments, sentence in (
        (["nothing.csv"], "there is no file 'nothing.csv'"),
        ([whole_csv(tmp_path)], "this needs a running service"),
    ):
        found = CliRunner().invoke(cli, ["import", *arguments, "--campaign", "c"])
        assert sentence in str(found.exception)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("import")) as running:
        running.ask("POST", "/v1/campaigns", CAMPAIGN)
        yield running


def invoke(server: Server, *arguments: str) -> Any:
    place = ["--url", server.url, "--key", KEY, "--campaign", "home-hero"]
    return CliRunner().invoke(cli, ["import", *arguments, *place])


def histories(server: Server) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = server.ask("GET", "/v1/campaigns/home-hero")[1]["history"]
    return found


@pytest.mark.slow
def test_a_file_is_shown_imported_and_not_imported_twice(server: Server, tmp_path: Path) -> None:
    path = whole_csv(tmp_path)
    shown = invoke(server, path, "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert "3 decisions; nothing was sent." in shown.output
    assert histories(server) == []
    for _ in range(2):
        done = invoke(server, path)
        assert done.exit_code == 0, (done.output, done.exception)
        assert "3 decisions, 2 of them with a reward, are in force in home-hero" in done.output
    (known,) = histories(server)
    assert known["id"] in shown.output
    assert (known["status"], known["decisions"], known["rewards"]) == ("in force", 3, 2)
    assert known["from"] == "2025-01-01T00:00:00.000000Z"


@pytest.mark.slow
def test_an_import_that_was_broken_off_goes_on(server: Server, tmp_path: Path) -> None:
    path = csv_file(tmp_path, *["a,none,0,,"] * 2000, *["b,click,1,,"] * 500)
    part = {"id": "mine", "rows": [{"action": "a", "signal": "none", "reward": 0.0}] * 2000}
    status, begun = server.ask("POST", "/v1/campaigns/home-hero/history", part)
    assert (status, begun["status"]) == (202, "receiving")
    done = invoke(server, path, "--id", "mine")
    assert done.exit_code == 0, (done.output, done.exception)
    assert histories(server)[-1]["parts"] == 2


@pytest.mark.slow
def test_a_history_without_room_is_refused_before_it_is_sent(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = histories(server)
    for module in (import_history_command, history_parts):
        monkeypatch.setattr(module, "MAX_IMPORTED", 5000)
        found = invoke(server, csv_file(tmp_path, *["a,none,0,,"] * 4999, *["b,click,1,,"] * 2))
        assert isinstance(found.exception, InvalidInput)
        assert "at most 5,000" in str(found.exception)
    assert histories(server) == before


@pytest.mark.slow
def test_a_row_that_the_campaign_cannot_use_is_named(server: Server, tmp_path: Path) -> None:
    before = histories(server)
    found = invoke(server, csv_file(tmp_path, "a,none,0,", "c,none,0,"))
    assert isinstance(found.exception, ForetellError)
    assert "line 3 of" in str(found.exception)
    assert "there is no action 'c': choose one of 'a', 'b'" in str(found.exception)
    assert histories(server) == before
