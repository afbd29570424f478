"""docs/traffic.md names every option of the command, with its default."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.cli.traffic import simulate_traffic

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
