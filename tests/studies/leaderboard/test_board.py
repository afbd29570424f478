"""The leaderboard: what is kept, what is resumed, and what it looks like."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.studies import runner
from foretell.studies.leaderboard.board import Leaderboard, leaderboard, load_leaderboard
from foretell.worlds import SuiteEntry, suite_entry

TINY = (
    dataclasses.replace(
        suite_entry("paper-d100"),
        scenario=ft.scenario("paper", delay=100, changes=ft.shifts(at=[300])),
        horizon=600,
        tuned_on=False,
    ),
    dataclasses.replace(
        suite_entry("bad-30"),
        scenario=ft.scenario("bad-30", changes=ft.shifts(at=[300]), delay=0),
        horizon=500,
        first_rewards=0,
    ),
)
ONLY = ("ucb", "uniform")


def run(cache: Path, seed: int = 0, *, runs: int = 6, out: Path | None = None) -> Leaderboard:
    return leaderboard(
        entries=TINY, only=ONLY, runs=runs, seed=seed, cache=cache, random=1, out=out
    )


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 4 runs"):
        leaderboard(runs=2)


def test_a_leaderboard_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="foretell leaderboard"):
        load_leaderboard(tmp_path)


@pytest.mark.compiled
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        run(tmp_path / f"cache-{name}", out=tmp_path / name)
    one, other = ((tmp_path / name / "leaderboard.json").read_bytes() for name in ("one", "other"))
    assert one == other
    assert run(tmp_path / "cache-one", seed=1).scores != run(tmp_path / "cache-one").scores


@pytest.mark.compiled
def test_what_is_finished_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(tmp_path)

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(runner, "_run_cell", refuse)
    again = run(tmp_path)
    assert again.scores == first.scores
    assert again.times["microseconds"] == first.times["microseconds"]


@pytest.mark.compiled
def test_a_damaged_cell_is_run_again(tmp_path: Path) -> None:
    first = run(tmp_path)
    for index, path in enumerate(sorted(tmp_path.rglob("*.cell"))):
        if index % 7 == 0:
            path.write_text('{"spec":', encoding="utf-8")
    assert run(tmp_path).scores == first.scores


KILLED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from foretell.studies import runner
from test_board import run
from pathlib import Path
measured, plain = [], runner._run_cell
def deadly(*arguments):
    if len(measured) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    measured.append(1)
    return plain(*arguments)
runner._run_cell = deadly
run(Path({cache!r}))
"""


@pytest.mark.compiled
def test_a_killed_leaderboard_goes_on_where_it_stopped(tmp_path: Path) -> None:
    script = KILLED.format(folder=str(Path(__file__).parent), cache=str(tmp_path / "killed"))
    killed = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert killed.returncode < 0
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "killed").rglob("*.cell")}
    assert len(kept) == 5
    resumed, whole = run(tmp_path / "killed"), run(tmp_path / "whole")
    assert resumed.scores == whole.scores
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.compiled
def test_the_report_is_whole_and_needs_no_network(tmp_path: Path) -> None:
    board = run(tmp_path / "cache", out=tmp_path / "out")
    assert load_leaderboard(tmp_path / "out").scores == board.scores
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "{{" not in page
    assert not re.search(r'(src|href)\s*=\s*"https?:', page)
    for name in (*ONLY, "oracle-psrl", "oracle-nsd"):
        assert f'<th scope="row">{name}</th>' in page
    for entry in TINY:
        assert entry.name in page
    ET.parse(tmp_path / "out" / "leaderboard-heat.svg")  # noqa: S314  it is our own
    table = (tmp_path / "out" / "leaderboard.md").read_text(encoding="utf-8")
    assert "6 runs on each of 2 scenarios and 1 random problems" in table
    apart = table.index("Scenarios on which nothing was tuned")
    assert apart < table.index("| paper-d100 |") < table.index("while the default was tuned")
    assert table.index("while the default was tuned") < table.index("| bad-30 |")


@pytest.mark.compiled
def test_scores_hang_together(tmp_path: Path) -> None:
    scores = run(tmp_path).scores
    for entry in TINY:
        cells = scores["cells"][entry.name]
        assert cells["oracle-psrl"]["regret_to_oracle-psrl"][0] == 1.0
        assert "rank" not in cells["oracle-psrl"]
        assert sorted(cells[name]["rank"][0] for name in ONLY) == [1, 2]
        for name in ONLY:
            rank, low, high = cells[name]["rank"]
            assert 1 <= low <= rank <= high <= 2
        facts = next(one for one in scores["scenarios"] if one["name"] == entry.name)
        expected = cells["ucb"]["regret"][0] / facts["yardstick"]["regret"][0]
        assert cells["ucb"]["regret_to_window"][0] == pytest.approx(expected, rel=1e-3)
        assert cells["ucb"]["late"][0] <= cells["ucb"]["regret"][0]
    assert [row["lab_only"] for row in scores["summary"]] == [False, False, True, True]
    for row in scores["summary"]:
        for key in ("held_out", "tuned_on", "random", "late", "worst", "to_oracle-psrl"):
            value, low, high = row[key]
            assert low <= value <= high
        apart = [scores["cells"][one.name][row["policy"]]["regret_to_window"][0] for one in TINY]
        assert [row["held_out"][0], row["tuned_on"][0]] == pytest.approx(apart, rel=1e-4)


@pytest.mark.compiled
def test_a_guest_takes_part(tmp_path: Path) -> None:
    entries: tuple[SuiteEntry, ...] = TINY[:1]
    board = leaderboard(entries=entries, only=ONLY, policies=["ts"], runs=4, cache=tmp_path)
    assert board.scores["cells"][entries[0].name]["ts"]["rank"][0] <= 3
