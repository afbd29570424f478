"""`foretell evaluate` prints what the service answers, and refuses what is no export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from foretell.cli import cli
from foretell.errors import DamagedFile, InvalidInput
from tests.service.engine.test_evaluations import run_campaign, write_export
from tests.service.engine_driver import Served


@pytest.fixture
def export(tmp_path: Path) -> str:
    path = tmp_path / "log.ndjson"
    with Served(tmp_path / "a.db", compiled=False) as served:
        run_campaign(served, 60)
        served.run(write_export(served, path, parquet=False))
    return str(path)


def test_a_table_with_a_sentence_or_json(export: str) -> None:
    shown = CliRunner().invoke(cli, ["evaluate", export, "--policy", "nsd-ucrl2"])
    assert shown.exit_code == 0, shown.output
    assert "nsd-ucrl2, without the signal" in shown.output
    asked = ["evaluate", export, "--policy", "nsd-ucrl2", "--json"]
    found = json.loads(CliRunner().invoke(cli, asked).output)
    assert found["sentence"] in shown.output
    assert found["counted"] <= found["settled"] <= found["decisions"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (["{}/nothing", "--policy", "ucb"], "there is no file"),
        (["{}/log.ndjson", "--policy", "ucb", "--as-of", "today"], "--as-of must be a time"),
    ],
)
def test_what_cannot_be_used_is_refused(export: str, wrong: list[str], sentence: str) -> None:
    folder = str(Path(export).parent)
    found = CliRunner().invoke(cli, ["evaluate", *(one.format(folder) for one in wrong)])
    assert isinstance(found.exception, InvalidInput)
    assert sentence in str(found.exception)


def test_records_count_once_in_whatever_order_the_file_has_them(export: str) -> None:
    asked = ["evaluate", export, "--policy", "ucb", "--json"]
    whole = CliRunner().invoke(cli, asked).output
    lines = Path(export).read_text("utf-8").splitlines(keepends=True)
    Path(export).write_text("".join([*lines[30:], *lines[:40]]), "utf-8")
    assert CliRunner().invoke(cli, asked).output == whole


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"a":' + 100_000 * "[" + 100_000 * "]" + "}", "line 1 of"),
        (
            '{"seq":"1","recorded_at":"2026-01-01T00:00:00Z","type":"void","body":{}}',
            "it does not begin with how the campaign was made",
        ),
        (
            '{"seq":"x","recorded_at":"2026-01-01T00:00:00Z","type":"created","body":{}}',
            "a record is not as the service writes it",
        ),
        (
            '{"seq":"1","recorded_at":"2026-01-01T00:00:00Z","type":"created","body":{}}',
            "it names 'version' without saying what that is",
        ),
    ],
    ids=["deep", "no beginning", "no seq", "no version"],
)
def test_what_is_wrong_with_a_file_is_said_without_words_of_python(
    tmp_path: Path, line: str, why: str
) -> None:
    (tmp_path / "log.ndjson").write_text(line + "\n", "utf-8")
    asked = ["evaluate", str(tmp_path / "log.ndjson"), "--policy", "ucb"]
    found = CliRunner().invoke(cli, asked).exception
    assert isinstance(found, DamagedFile)
    assert why in str(found)
    assert "Error" not in str(found)
