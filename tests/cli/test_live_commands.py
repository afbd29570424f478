"""What the commands of the service have in common."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.service.server import foretell

LEAN = """
import sys
import foretell.cli
heavy = {"apsw", "httpx2", "rich", "starlette", "uvicorn"} & set(sys.modules)
print(",".join(sorted(heavy)))
"""
WITHOUT = """
import sys
sys.modules[{name!r}] = None
sys.argv = ["foretell", *{arguments!r}]
from foretell.cli import main
main()
"""


def test_the_command_line_loads_nothing_of_the_service() -> None:
    done = subprocess.run([sys.executable, "-c", LEAN], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["apsw", "starlette", "uvicorn"])
def test_a_missing_extra_is_named(name: str) -> None:
    code = WITHOUT.format(name=name, arguments=["serve", "--port", "0"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"needs {name}" in done.stderr
    assert "pip install 'foretell[serve]'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("serve", "--port", "x"), "--port must be a whole number from 0 to 65535, got 'x'"),
        (("serve", "--config", "nowhere.toml"), "there is no settings file 'nowhere.toml'"),
        (("serve", "--prot", "1"), "--prot"),
        (("keys", "list", "--db", "nowhere.db"), "there is no database 'nowhere.db'"),
        (("keys", "list", "--db", "x", "--url", "http://x"), "--url and --db are two services"),
        (("keys", "list", "--url", "http://127.0.0.1:1"), "wants an admin key"),
        (("keys", "list", "--url", "here", "--key", "k"), "an address like"),
        (("keys", "make", "x", "--scope", "fly", "--url", "http://x"), "'fly' is not one of"),
        (("verify", "--db", "nowhere.db"), "there is no database 'nowhere.db'"),
        (("backup", "copy.db", "--db", "nowhere.db"), "there is no database 'nowhere.db'"),
        (("backup", "nowhere/copy.db", "--db", "x"), "there is no folder 'nowhere'"),
        (("restore", "nowhere.db"), "'nowhere.db' does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], sentence: str
) -> None:
    answered = foretell(*arguments)
    assert answered.returncode == 2
    assert sentence in answered.stderr
    assert "Traceback" not in answered.stderr


def test_a_service_that_is_not_there_is_one_sentence() -> None:
    answered = foretell("keys", "list", "--url", "http://127.0.0.1:1", "--key", "k")
    assert answered.returncode == 2
    assert "no answer from http://127.0.0.1:1" in answered.stderr
