"""`foretell evaluate` prints what the service answers, and refuses what is no export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from foretell.cli import cli
from foretell.errors import InvalidInput
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
