"""Studies from Python: the same cells, cache, claims and report as the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import foretell as ft
from foretell.errors import InvalidInput, UnknownName
from foretell.imports import import_all
from foretell.sim import Batch
from foretell.studies.cells import CellStore
from foretell.studies.guests import guest_entries, guest_policies
from foretell.studies.leaderboard.contest import Contest
from foretell.studies.paper import STUDIES
from foretell.worlds import catalogue

OWN = """
from dataclasses import dataclass
import numpy as np
import foretell as ft
from foretell.policies.uniform import UniformState
from foretell.policies.verbs import begin

@ft.register("own-level")
@dataclass(frozen=True)
class OwnLevel(ft.Spec):
    level: int = 1

@begin.register(OwnLevel)
def _begin(spec, problem):
    return UniformState(np.zeros(problem.actions))
"""
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
WORLD = ft.scenario("paper-stationary", delay=5)


def test_a_study_from_python_is_that_of_its_file() -> None:
    read = ft.Study.read(EXAMPLES / "windows_under_delay.toml")
    made = ft.Study(
        ["nsd-ucrl2(window={window})", lambda window: ft.NsdPsrl(window=window), ft.Ucb()],
        {"paper": lambda delay: ft.scenario("paper", delay=delay)},
        {"window": [400, 800], "delay": [100, 500]},
        8000,
        50,
        0,
    )
    assert made.cells() == read.cells()
    assert [one.name for one in made.plan().panels] == [one.name for one in read.plan().panels]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"policies": []}, "at least one policy"),
        ({"scenarios": []}, "at least one policy and one scenario"),
        ({"runs": 1}, "runs must be a whole number of at least 2, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"scenarios": [WORLD, 5]}, "got 5"),
        ({"scenarios": ["paper", "paper"]}, "two scenarios are called 'paper'"),
        ({"policies": "ucb(scale={scael})", "grid": {"scale": [1]}}, "did you mean 'scale'?"),
        ({"policies": "ucb(scale={scale})"}, "there is no grid for the word 'scale'"),
        ({"grid": {"scale": [1]}}, "no policy and no scenario uses the word 'scale'"),
        ({"policies": "ucb(scale={s})", "grid": {"s": 1}}, "needs a list of values, got 1"),
    ],
)
def test_what_cannot_be_run_is_refused_at_once(arguments: dict[str, object], sentence: str) -> None:
    usual: dict[str, object] = {"policies": "ucb", "scenarios": "paper"}
    with pytest.raises((InvalidInput, UnknownName)) as error:
        ft.Study(**(usual | arguments))  # type: ignore[arg-type]
    assert sentence in str(error.value)


@pytest.mark.compiled
def test_a_study_keeps_its_cells_decides_claims_and_writes_the_report(tmp_path: Path) -> None:
    def less(pair: tuple[Batch, Batch]) -> ft.Finding:
        one, other = (batch.final.mean() for batch in pair)
        return ft.Finding(bool(one < other), f"{one:.0f} and {other:.0f}")

    claim = ft.Claim(
        "few",
        "Two actions cost less.",
        "here",
        "the mean regret is less",
        less,
        lambda r: (r["two"]["uniform"], r["late"]["uniform"]),
        lambda r: (r["late"]["uniform"], r["two"]["uniform"]),
    )
    study = ft.Study(
        "uniform",
        {"late": WORLD, "two": ft.scenario("paper-two-actions")},
        horizon=200,
        runs=4,
        title="Mine",
        claims=[claim],
    )
    found = study.run(tmp_path / "out", cache=tmp_path / "cache", progress=False)
    assert all(CellStore(tmp_path / "cache").has(cell) for cell in study.cells())
    assert list(found.results) == ["late", "two"]
    assert found.results["late"]["uniform"].runs == 4
    (verdict,) = found.verdicts
    assert verdict.word == "supported"
    assert "Two actions cost less." in (tmp_path / "out" / "index.html").read_text("utf-8")
    assert {"figure-1.svg", "figure-1.png", "claims.csv", "study-final-regret.csv"} <= {
        path.name for path in (tmp_path / "out").iterdir()
    }
    again = study.run(cache=tmp_path / "cache", progress=False)
    assert again.results["late"]["uniform"].final.tolist() == (
        found.results["late"]["uniform"].final.tolist()
    )


@pytest.mark.compiled
def test_an_own_policy_enters_a_study_file(tmp_path: Path, own_registry: None) -> None:
    (tmp_path / "own_level.py").write_text(OWN, "utf-8")
    file = tmp_path / "mine.toml"
    file.write_text(
        'imports = ["own_level.py"]\nhorizon = 60\nruns = 2\n'
        'policies = ["own-level(level={level})", "uniform"]\n'
        '[grid]\nlevel = [1, 2]\n[[scenarios]]\nbase = "paper-stationary"\n'
    )
    found = ft.Study.read(file).run(tmp_path / "out", cache=tmp_path / "cache")
    (batches,) = found.results.values()
    assert list(batches) == ["own-level(level=1)", "own-level(level=2)", "uniform"]
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert batches["own-level(level=1)"].provenance["own_level.py"] in page


@pytest.mark.compiled
def test_an_own_policy_and_scenario_enter_the_leaderboard(
    tmp_path: Path, own_registry: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "_SCENARIOS", dict(catalogue._SCENARIOS))
    (tmp_path / "own_guest.py").write_text(
        OWN.replace("own-level", "own-guest") + "\n@ft.register_scenario('own-world', horizon=70)\n"
        "def own_world():\n    return ft.scenario('paper-stationary', delay=9)\n",
        "utf-8",
    )
    modules = import_all(["own_guest.py"], tmp_path)
    assert [str(one) for one in guest_policies([], modules)] == ["own-guest(level=1)"]
    assert [str(one) for one in guest_policies(["ucb"], modules)] == ["ucb"]
    (entry,) = guest_entries([], modules)
    assert (entry.name, entry.horizon, entry.first_rewards) == ("own-world", 70, 9)
    contest = Contest(entry, 4, 0, {"own-guest": guest_policies([], modules)[0]}, only=["uniform"])
    assert {"own-guest", "uniform"} <= set(contest.entrants)
    plan = STUDIES["fig2"].with_policies(guest_policies([], modules))
    assert all(str(panel.specs[-1]) == "own-guest(level=1)" for panel in plan.panels)
