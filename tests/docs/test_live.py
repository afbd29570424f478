"""docs/live.md is true: its commands and its Python run against a real server, top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from foretell.service.http.metric_catalogue import CATALOGUE
from tests.docs.pages import DOCS, code_of, run_python, run_shell
from tests.service.server_process import Server, foretell

LIVE = DOCS / "live.md"
PAGE = LIVE.read_text("utf-8")


@pytest.mark.slow
def test_the_commands_and_the_python_of_the_page_work(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        commands = "\n".join(code_of(LIVE, "sh"))
        assert commands.count("curl ") > 10
        said = run_shell(server, tmp_path, commands)
        assert said.count('"status":"accepted"') >= 5
        assert '"counts":{"decisions":1,"signals":1,"rewards":1,' in said
        assert '{"decisions":1}' in said, "user-17 is erased"
        assert "Nothing is damaged." in said
        assert "Restored" in said
        said = run_python(server, tmp_path, "\n".join(code_of(LIVE, "python")))
        assert "signals=1, rewards=1" in said
        _, page = server.ask("GET", "/v1/campaigns/home-hero/report")
        assert page["policy"].startswith("nsd-psrl")


def test_the_metrics_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"foretell_[a-z_]+", PAGE))
    assert named
    assert named <= {one.name for one in CATALOGUE}


@pytest.mark.slow
def test_every_command_of_the_page_has_the_options_that_it_names() -> None:
    for command in ("serve", "keys make", "verify", "backup", "restore"):
        shown = foretell(*command.split(), "--help").stdout
        for line in re.findall(rf"foretell {command}[^\n`]*", PAGE):
            for option in re.findall(r"--[a-z-]+", line):
                assert option in shown, line
