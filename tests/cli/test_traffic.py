"""`foretell simulate-traffic`: its options are documented with their defaults, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from foretell.cli.traffic import simulate_traffic
from foretell.errors import InvalidInput

PAGE = (Path(__file__).parents[2] / "docs" / "traffic.md").read_text("utf-8")


@pytest.mark.parametrize("option", simulate_traffic.params, ids=lambda option: str(option.name))
def test_every_option_is_documented(option: object) -> None:
    names: list[str] = getattr(option, "opts", [])
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{names[0]}`")]
    if names[0] == "--key":
        rows = [line for line in PAGE.splitlines() if "`--key`" in line]
    assert len(rows) == 1
    default = getattr(option, "default", None)
    if isinstance(default, str | int | float) and not isinstance(default, bool):
        assert str(default) in rows[0]


@pytest.mark.parametrize("option", ["--rate", "--late", "--lost", "--duplicates"])
def test_nan_is_no_number(option: str) -> None:
    done = CliRunner().invoke(simulate_traffic, [option, "nan"])
    assert done.exit_code == 2
    assert "'nan' is not a number" in done.output


@pytest.mark.parametrize("options", [["--truth", "little"], ["--horizon", "10"]])
def test_a_key_that_is_missing_is_asked_for(options: list[str]) -> None:
    done = CliRunner(env={"FORETELL_ADMIN_KEY": ""}).invoke(simulate_traffic, options)
    assert isinstance(done.exception, InvalidInput)
    assert "give it with --key" in str(done.exception)
