"""The version as an option, and the completion of commands in three shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from foretell.cli.completion import SHELLS
from tests.service.server_process import foretell

COMPLETE = """
eval "$(foretell completion bash)"
COMP_WORDS=({words}); COMP_CWORD={last}
_foretell_completion foretell
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
BEGINNINGS = {"bash": "_foretell_completion() {", "zsh": "#compdef foretell", "fish": "function _f"}


def test_the_version_is_an_option_and_a_command() -> None:
    said = foretell("--version")
    assert (said.returncode, said.stdout.strip()) == (0, version("foretell"))
    assert foretell("version").stdout == said.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_its_script(shell: str) -> None:
    said = foretell("completion", shell)
    assert said.returncode == 0
    assert said.stdout.startswith(BEGINNINGS[shell])
    assert f"_FORETELL_COMPLETE={shell}_complete" in said.stdout


def test_a_shell_that_is_not_known_is_refused_with_those_that_are() -> None:
    said = foretell("completion", "tcsh")
    assert said.returncode == 2
    assert "'bash', 'zsh', 'fish'" in said.stderr


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["foretell", "repro"], ["reproduce"]),
        (["foretell", "completion", "z"], ["zsh"]),
        (["foretell", "policies", "nsd-psrl"], ["nsd-psrl", "nsd-psrl-cp"]),
        (["foretell", "serve", "--cors"], ["--cors-origin"]),
    ],
    ids=["command", "choice", "policy", "option"],
)
def test_bash_completes_what_was_begun(words: list[str], found: list[str]) -> None:
    bash = shutil.which("bash")
    assert bash
    here = str(Path(sys.executable).parent)
    script = COMPLETE.format(words=" ".join(words), last=len(words) - 1)
    said = subprocess.run(
        [bash, "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}"},
    )
    assert said.stdout.split() == found
