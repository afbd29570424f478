"""The code of a page, and how a reader runs it: in a folder, next to a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.service.server_process import Server, environment

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SERVER = "http://localhost:8000"
"""Where the service is, on every page."""
STRICT = """
set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; echo; }
"""
"""A refusal ends the script, as it would end the reader's patience."""
OUTPUT = ("text", "json")
"""The kinds of blocks that show what the block before them prints."""


class Step(NamedTuple):
    """A block of code, and what its page says it prints: nothing where the page does not say."""

    kind: str
    code: str
    shown: str
    shown_kind: str


def code_of(page: Path, kind: str) -> list[str]:
    """Return the code of one kind on a page."""
    return [code for named, code in _blocks(page) if named == kind]


def steps_of(page: Path) -> list[Step]:
    """Return every block of code on a page, with the output that follows it."""
    steps: list[Step] = []
    for kind, code in _blocks(page):
        if kind in OUTPUT:
            steps[-1] = steps[-1]._replace(shown=code, shown_kind=kind)
        else:
            steps.append(Step(kind, code, "", ""))
    return steps


def run(server: Server, folder: Path, *command: str, **variables: str) -> str:
    """Run what a reader would run in a terminal next to the server; return what it prints."""
    here = str(Path(sys.executable).parent)
    ran = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(
            KEY=server.key, PATH=f"{here}{os.pathsep}{os.environ['PATH']}", **variables
        ),
        timeout=300,
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def run_shell(server: Server, folder: Path, commands: str, **variables: str) -> str:
    """Run commands of a page in one shell; the first that fails ends it."""
    assert commands
    commands = commands.replace(SERVER, server.url)
    return run(server, folder, "bash", "-c", STRICT + commands, **variables)


def run_python(server: Server, folder: Path, code: str) -> str:
    """Run Python of a page as one script."""
    assert code
    return run(server, folder, sys.executable, "-c", code.replace(SERVER, server.url))


def _blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(
        r"^```(\w*)\n(.*?)^```$", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )
