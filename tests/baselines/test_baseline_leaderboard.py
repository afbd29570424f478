"""The leaderboard: scores, what is kept, what is resumed, and what it looks like."""

from __future__ import annotations

import dataclasses
import math
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.studies.leaderboard import cells as leaderboard_cells
from foretell.studies.leaderboard.board import Leaderboard, load_leaderboard, run_leaderboard
from foretell.studies.leaderboard.entrants import entrants, window_family
from foretell.studies.leaderboard.score import cross_fitted, geometric_mean, ratio
from foretell.worlds import SuiteEntry, suite_entry

TINY = (
    dataclasses.replace(
        suite_entry("paper-d100"),
        scenario=ft.scenario("paper", delay=100, changes=ft.shifts(at=[300])),
        horizon=600,
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
    return run_leaderboard(
        entries=TINY, only=ONLY, runs=runs, seed=seed, cache=cache, random=1, out=out
    )


def test_the_yardstick_does_not_choose_on_what_it_measures() -> None:
    rng = np.random.default_rng(0)
    family = {str(n): rng.normal(100, 10, 2000) for n in range(50)}
    fitted = cross_fitted(family)
    chosen_in_sample = min(float(regret.mean()) for regret in family.values())
    assert abs(fitted.regret.mean() - 100) < 1.0
    assert chosen_in_sample < fitted.regret.mean()
    with pytest.raises(InvalidInput, match="at least 4 runs"):
        cross_fitted({"a": np.ones(3)})


def test_a_ratio_is_that_of_the_means_and_knows_its_spread() -> None:
    rng = np.random.default_rng(1)
    luck = rng.normal(0, 5, 400)
    one, other = 30 + luck + rng.normal(0, 1, 400), 20 + luck
    found = ratio(one, other)
    assert found.value == pytest.approx(one.mean() / other.mean())
    assert found.low < 1.5 < found.high
    draw = rng.integers(0, 400, (2000, 400))
    drawn = one[draw].mean(axis=1) / other[draw].mean(axis=1)
    assert found.high - found.low == pytest.approx(
        float(np.percentile(drawn, 97.5) - np.percentile(drawn, 2.5)), rel=0.15
    )
    assert ratio(one, np.zeros(400)).value == math.inf


def test_the_geometric_mean_leaves_out_what_is_not_there() -> None:
    assert geometric_mean([1.0, 4.0, None]) == 2.0
    assert geometric_mean([]) is None


def test_entrants_are_set_as_their_papers_say() -> None:
    entry = suite_entry("paper-d500")
    specs = entrants(entry)
    assert set(specs) >= {
        name
        for name, one in ft.registered_policies().items()
        if one.spec.__module__.startswith("foretell.")
    }
    assert str(specs["sw-ucb"]) == "sw-ucb(window=309)"
    assert str(specs["d-ucb"]) == "d-ucb(gamma=0.995159)"
    assert str(specs["exp3s"]) == "exp3s(changes=3)"
    assert str(entrants(suite_entry("stationary-long"))["sw-ts"]) == "sw-ts(window=None)"
    assert len(window_family(entry)) == 12
    assert len(window_family(dataclasses.replace(entry, horizon=500))) == 6


def test_too_few_runs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="at least 4 runs"):
        run_leaderboard(runs=2)


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

    monkeypatch.setattr(leaderboard_cells.Bench, "_run", refuse)
    again = run(tmp_path)
    assert again.scores == first.scores
    assert again.times["microseconds"] == first.times["microseconds"]


@pytest.mark.compiled
def test_a_damaged_cell_is_run_again(tmp_path: Path) -> None:
    first = run(tmp_path)
    for place, path in enumerate(sorted(tmp_path.rglob("*.json"))):
        if place % 7 == 0:
            path.write_text('{"spec":', encoding="utf-8")
    assert run(tmp_path).scores == first.scores


KILLED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from foretell.studies.leaderboard.cells import Bench
from test_baseline_leaderboard import run
from pathlib import Path
measured, plain = [], Bench._run
def deadly(*arguments):
    if len(measured) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    measured.append(1)
    return plain(*arguments)
Bench._run = deadly
run(Path({cache!r}))
"""


@pytest.mark.compiled
def test_a_killed_leaderboard_goes_on_where_it_stopped(tmp_path: Path) -> None:
    script = KILLED.format(folder=str(Path(__file__).parent), cache=str(tmp_path / "killed"))
    killed = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)
    assert killed.returncode < 0
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "killed").rglob("*.json")}
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


@pytest.mark.compiled
def test_scores_hang_together(tmp_path: Path) -> None:
    scores = run(tmp_path).scores
    for entry in TINY:
        cells = scores["cells"][entry.name]
        assert cells["oracle-psrl"]["regret_to_oracle-psrl"][0] == 1.0
        assert "rank" not in cells["oracle-psrl"]
        assert sorted(cells[name]["rank"] for name in ONLY) == [1, 2]
        facts = next(one for one in scores["scenarios"] if one["name"] == entry.name)
        expected = cells["ucb"]["regret"][0] / facts["yardstick"]["regret"][0]
        assert cells["ucb"]["regret_to_window"][0] == pytest.approx(expected, rel=1e-3)
        assert cells["ucb"]["late"][0] <= cells["ucb"]["regret"][0]
    assert [row["lab_only"] for row in scores["summary"]] == [False, False, True, True]


@pytest.mark.compiled
def test_a_guest_takes_part(tmp_path: Path) -> None:
    entries: tuple[SuiteEntry, ...] = TINY[:1]
    board = run_leaderboard(entries=entries, only=ONLY, policies=["ts"], runs=4, cache=tmp_path)
    assert board.scores["cells"][entries[0].name]["ts"]["rank"] <= 3
