"""The command line, as a user calls it: help, output, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foretell.cli import cli
from foretell.studies.paper import STUDIES


def foretell(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "foretell", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


def test_every_command_has_help() -> None:
    shown = foretell("--help")
    assert shown.returncode == 0
    for name, command in cli.commands.items():
        assert name in shown.stdout
        assert command.help


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("reproduce", "fig9"), "there is no study 'fig9': did you mean 'fig8'?"),
        (("reproduce", "--runs", "1"), "'--runs'"),
        (("run", "nowhere.toml"), "there is no study file 'nowhere.toml'"),
        (("bounds", "--delta", "3"), "delta must lie in (0, 1], got 3.0"),
        (("nonsense",), "nonsense"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], sentence: str
) -> None:
    answered = foretell(*arguments)
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
    listed = json.loads(foretell("policies", "--json").stdout)
    assert {"ucb", "nsd-ucrl2", "nsd-psrl", "uniform"} <= {row["policy"] for row in listed}
    promised = json.loads(foretell("bounds", "--json", "--largest-gap", "0.42").stdout)
    assert {row["verdict"] for row in promised} == {"vacuous"}
    assert json.loads(foretell("scenarios", "--json").stdout)


def test_the_version_is_printed() -> None:
    assert foretell("version").stdout.strip()


def test_every_study_is_in_the_documents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text("utf-8")
    for name in STUDIES:
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


@pytest.mark.compiled
@pytest.mark.slow
def test_an_interrupt_leaves_what_is_finished(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    started = subprocess.Popen(
        [sys.executable, "-m", "foretell", "reproduce", "--runs", "400", "--out", "out"],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    page = tmp_path / "out" / "index.html"
    waited = time.monotonic()
    while not page.is_file() and time.monotonic() - waited < 300:
        assert started.poll() is None
        time.sleep(0.2)
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=120)
    assert started.returncode == 130
    assert "Stopped; what was finished is kept." in said
    assert "Figure 2" in page.read_text("utf-8")
