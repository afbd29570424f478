"""The command line, as a user calls it: help, output, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import click
import pytest

from foretell.cli import cli
from foretell.cli.commands import COMMANDS
from foretell.studies.paper import LONG, STUDIES
from foretell.theory import Setting, lower_bound, switching_bound, theorem_window
from tests.cli import in_process
from tests.service.server_process import foretell

LEAN = """
import sys, click
from foretell.cli import cli
from foretell.cli.commands import COMMANDS
for name in COMMANDS:
    cli.get_command(click.Context(cli), name)
heavy = {"apsw", "httpx2", "rich", "starlette", "uvicorn"} & set(sys.modules)
print(",".join(sorted(heavy)))
"""
HELP = """
import sys
from foretell.cli import main
from foretell.cli.commands import COMMANDS
sys.argv = ["foretell", "--help"]
main()
print([one.module for one in COMMANDS.values() if f"foretell.cli.{one.module}" in sys.modules])
"""
EXTRAS = {
    "apsw", "duckdb", "httptools", "httpx2", "jinja2", "llvmlite", "matplotlib", "numba",
    "platformdirs", "prometheus_client", "starlette", "uvicorn", "uvloop",
}  # fmt: skip
BARE = """
import sys
for name in {extras!r}:
    sys.modules[name] = None
from foretell.cli import main
for arguments in {commands!r}:
    sys.argv = ["foretell", *arguments, "--help"]
    main()
"""
WITHOUT = """
import sys
sys.modules[{name!r}] = None
sys.argv = ["foretell", *{arguments!r}]
from foretell.cli import main
main()
"""


def test_every_command_has_help() -> None:
    shown = foretell("--help")
    assert shown.returncode == 0
    for name, known in COMMANDS.items():
        assert name in shown.stdout
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.name == name
        paragraph, *_ = (command.help or "").split("\n\n")
        assert " ".join(paragraph.split()) == known.begins


def test_a_list_of_commands_imports_none_of_them() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_needs_no_extra() -> None:
    commands = [(), *((name,) for name in COMMANDS), ("keys", "make")]
    code = BARE.format(extras=EXTRAS, commands=commands)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for arguments in commands:
        assert " ".join(("Usage: foretell", *arguments)) + " [" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("reproduce", "fig9"), "there is no study 'fig9': did you mean 'fig8'?"),
        (("reproduce", "--runs", "1"), "'--runs'"),
        (("run", "nowhere.toml"), "there is no study file 'nowhere.toml'"),
        (("bounds", "--delta", "3"), "delta must lie in (0, 1], got 3.0"),
        (("bounds", "--scenario", "pap"), "there is no scenario 'pap': did you mean 'paper'?"),
        (("bounds", "--scenario", "bad-50"), "rewards that depend on the signal alone"),
        (("nonsense",), "nonsense"),
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
    answered = in_process.foretell(*arguments)
    assert answered.returncode == 2
    assert sentence in answered.stderr
    assert "Traceback" not in answered.stderr


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_one_sentence_and_exit_code_1(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way", "utf-8")
    answered = foretell("reproduce", "fig2", "--runs", "2", "--out", str(blocked / "below"))
    assert answered.returncode == 1
    assert answered.stderr.startswith("Error: cannot write or read")
    assert "Traceback" not in answered.stderr


@pytest.mark.slow
def test_tables_come_as_json_too() -> None:
    listed = json.loads(in_process.foretell("policies", "--json").stdout)
    assert {"ucb", "nsd-ucrl2", "nsd-psrl", "uniform"} <= {row["policy"] for row in listed}
    bounds = in_process.foretell("bounds", "--json", "--largest-gap", "0.42")
    promised = json.loads(bounds.stdout)
    assert {row["verdict"] for row in promised["upper"]} == {"vacuous"}
    setting = Setting(horizon=8000, actions=4, signals=3, switches=3, delay=500)
    by_name = {row["bound"]: row for row in promised["lower"]}
    proposition, proven = by_name["Proposition 1"], lower_bound(setting)
    for field in ("learning", "delay", "total", "order"):
        assert proposition[field] == getattr(proven, field)  # to the last digit
    assert promised["theorem_window"] == theorem_window(setting)
    assert promised["upper"][0]["total"] == switching_bound(setting).total
    assert json.loads(in_process.foretell("scenarios", "--json").stdout)


@pytest.mark.slow
def test_bounds_say_what_signals_are_worth() -> None:
    shown = in_process.foretell("bounds", "--scenario", "paper").stdout
    assert "What signals are worth in the long run: 4.42 times less regret." in shown
    assert "every policy" in shown
    assert "S-free, changes known" in shown
    answered = in_process.foretell("bounds", "--scenario", "besson-1", "--json")
    answer = json.loads(answered.stdout)
    assert [one["from_round"] for one in answer["constants"]] == [0, 4000, 8000, 12000, 16000]
    assert all(one["ratio"] == pytest.approx(1.0) for one in answer["constants"])
    assert answer["sizes"] == {
        "horizon": 20_000, "actions": 3, "signals": 2, "switches": 4, "delay": 0
    }  # fmt: skip
    assert len(repr(answer["constants"][0]["upper"])) > 10
    assert answer["constants"][0]["plays"][0] is None


def test_the_version_is_printed() -> None:
    assert foretell("version").stdout.strip()


def test_every_study_is_in_the_documents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text("utf-8")
    for name in STUDIES | LONG:
        assert f"`{name}`" in page


@pytest.mark.compiled
@pytest.mark.slow
def test_one_figure_is_made_from_the_command_line(tmp_path: Path) -> None:
    made = foretell(
        "reproduce", "fig2", "--runs", "4", "--seed", "7", "--out", "here", cwd=tmp_path
    )
    assert made.returncode == 0, made.stderr
    assert "not supported W = 800 works best" in made.stdout
    assert (tmp_path / "here" / "index.html").is_file()
    assert (tmp_path / "here" / "fig2.svg").is_file()


def _interrupted(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C until the process ends, and return what it said.

    Python ignores an interrupt that arrives in a callback, of which the compiler has many.
    """
    try:
        for _ in range(12):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                return process.communicate(timeout=15)[1]
        raise AssertionError("it does not end")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.compiled
@pytest.mark.slow
def test_an_interrupt_leaves_what_is_finished(tmp_path: Path) -> None:
    started = subprocess.Popen(
        [sys.executable, "-m", "foretell", "reproduce", "--runs", "100", "--fresh", "--out", "out"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    page = tmp_path / "out" / "index.html"
    waited = time.monotonic()
    while not page.is_file() and time.monotonic() - waited < 300:
        assert started.poll() is None
        time.sleep(0.2)
    said = _interrupted(started)
    assert started.returncode == 130, said
    assert "Stopped; what was finished is kept." in said
    assert "Figure 2" in page.read_text("utf-8")


def test_the_command_line_loads_nothing_of_the_service() -> None:
    done = subprocess.run([sys.executable, "-c", LEAN], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_commands_that_ask_a_service_name_the_missing_extra() -> None:
    arguments = ["keys", "list", "--url", "http://127.0.0.1:1", "--key", "k"]
    code = WITHOUT.format(name="httpx2", arguments=arguments)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "needs httpx2" in done.stderr
    assert "pip install 'foretell[client]'" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["apsw", "starlette", "uvicorn"])
def test_a_missing_extra_is_named(name: str) -> None:
    code = WITHOUT.format(name=name, arguments=["serve", "--port", "0"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"needs {name}" in done.stderr
    assert "pip install 'foretell[serve]'" in done.stderr


def test_a_service_that_is_not_there_is_one_sentence() -> None:
    answered = in_process.foretell("keys", "list", "--url", "http://127.0.0.1:1", "--key", "k")
    assert answered.returncode == 2
    assert (
        "http://127.0.0.1:1 gives no usable answer (the service cannot be reached: "
        in answered.stderr
    )
