"""docs/live.md is true: its commands and its Python run against a real server, top to bottom."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from foretell.service.http.metric_catalogue import CATALOGUE
from tests.service.server_process import KEY, Server, environment, foretell

PAGE = (Path(__file__).parents[2] / "docs" / "live.md").read_text("utf-8")
STRICT = """
set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }
"""
"""A refusal ends the script, as it would end the reader's patience."""


def blocks(kind: str) -> str:
    """Return all code of one kind."""
    return "\n".join(re.findall(rf"^```{kind}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE))


def run(server: Server, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run what a reader would run in a terminal next to the server."""
    here = str(Path(sys.executable).parent)
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(KEY=KEY, PATH=f"{here}{os.pathsep}{os.environ['PATH']}"),
        timeout=120,
    )


@pytest.mark.slow
def test_the_commands_and_the_python_of_the_page_work(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        commands = blocks("sh").replace("http://localhost:8000", server.url)
        assert commands.count("curl ") > 10
        ran = run(server, tmp_path, "bash", "-c", STRICT + commands)
        assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
        assert ran.stdout.count('"status":"accepted"') >= 5
        assert '"counts":{"decisions":1,"signals":1,"rewards":1,' in ran.stdout
        assert '{"decisions":1}' in ran.stdout, "user-17 is erased"
        assert "Nothing is damaged." in ran.stdout
        assert "Restored" in ran.stdout
        script = blocks("python").replace("http://localhost:8000", server.url)
        ran = run(server, tmp_path, sys.executable, "-c", script)
        assert ran.returncode == 0, ran.stderr
        assert "signals=1, rewards=1" in ran.stdout
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
