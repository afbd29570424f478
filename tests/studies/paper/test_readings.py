"""The errata and the readings: each is documented, and every reading is run both ways."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import foretell as ft
from foretell.errors import PolicyDefect
from foretell.policies import registry
from foretell.studies.paper import STUDIES, open_questions
from foretell.studies.paper.errata import ERRATA
from foretell.studies.reproduce import run_studies
from foretell.worlds.paper import LAW, THETA

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "first_index_ties.py"
RUNS = 3


def documented() -> list[str]:
    return re.findall(r"(?m)^\*\*([A-Z]\d+)\. ", (ROOT / "docs/errata.md").read_text("utf-8"))


def test_every_erratum_of_the_report_and_of_the_readings_is_documented() -> None:
    wanted = [one.id for one in ERRATA]
    for reading in open_questions.READINGS:
        wanted += reading.erratum.split(", ")
    assert set(wanted) <= set(documented())


def test_errata_are_numbered_without_gaps_and_once() -> None:
    ids = documented()
    assert len(ids) == len(set(ids))
    for letter in "ESPTR":
        numbers = [int(one[1:]) for one in ids if one[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1))


def test_every_erratum_that_the_sources_cite_is_documented() -> None:
    cited = set(re.findall(r"\b[ESPTR]\d+\b", (ROOT / "docs/bounds.md").read_text("utf-8")))
    for source in (ROOT / "src").rglob("*.py"):
        text = source.read_text("utf-8")
        for phrase in re.findall(r"errat(?:um|a) ((?:[ESPTR]\d+(?:, | and )?)+)", text):
            cited |= set(re.findall(r"[ESPTR]\d+", phrase))
    assert {"E1", "P1", "R10", "S15"} <= cited
    assert cited <= set(documented())


def test_only_our_third_row_has_the_printed_mean() -> None:
    row = np.array(LAW[2])
    assert row.sum() == pytest.approx(1.0)
    assert row @ np.array(THETA) == pytest.approx(0.28)
    for world in (open_questions.NORMALISED, open_questions.TWICE_BEST):
        other = open_questions.WORLDS[world].first_law[2]
        assert other.sum() == pytest.approx(1.0)
        assert abs(other @ np.array(THETA) - 0.28) > 0.2


def test_the_sides_of_a_reading_differ_in_one_thing() -> None:
    for reading in open_questions.READINGS:
        same_spec = reading.ours.spec == reading.other.spec
        same_world = reading.ours.world == reading.other.world
        assert same_spec != same_world
        assert reading.ours.spec.name == reading.other.spec.name


def test_the_example_breaks_the_law_of_ties_and_no_other(own_registry: None) -> None:
    ties = example().Ties
    ft.check_policy(ties(window=30, ties="exact"))
    with pytest.raises(PolicyDefect, match="ties are broken at random"):
        ft.check_policy(ties(window=30, ties="first"))
    with pytest.raises(ft.ForetellError, match="'first' or 'exact'"):
        ties(ties="last")


def test_first_index_ties_play_the_first_action_while_nothing_is_known(own_registry: None) -> None:
    batch = ft.simulate(
        ft.scenario("paper-stationary", delay=300), example().Ties(), 200, 1, compiled=False
    )
    assert batch.actions[0].tolist() == [197, 1, 1, 1]


@pytest.mark.compiled
def test_readings_are_reported_both_ways_with_the_errata(tmp_path: Path) -> None:
    (finished,) = run_studies([STUDIES["readings"]], tmp_path, runs=RUNS, cache=tmp_path / "cache")
    (table,) = finished.tables
    assert len(table.rows) == len(open_questions.READINGS)
    assert all(verdict.control.holds is False for verdict in finished.verdicts)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert page.index("sentence by sentence") < page.index("Misprints, wrong statements")
    for one in ERRATA:
        assert f'id="erratum-{one.id}"' in page


@pytest.mark.compiled
def test_the_window_over_rounds_holds_nothing_under_a_longer_delay() -> None:
    batches = ft.simulate(
        open_questions.WORLDS[open_questions.LONG_DELAY],
        ["sw-ucb(window=800, over='rounds')", "uniform"],
        8000,
        RUNS,
    )
    over, uniform = batches.values()
    assert over.final == pytest.approx(uniform.final, rel=0.03)


@pytest.mark.compiled
def test_a_study_of_ones_own_has_no_errata(tmp_path: Path) -> None:
    file = tmp_path / "fig2.toml"
    file.write_text(
        'horizon = 50\npolicies = ["uniform"]\n[[scenarios]]\nbase = "paper-stationary"\n'
    )
    ft.Study.read(file).run(tmp_path, cache=tmp_path / "cache")
    assert "Misprints" not in (tmp_path / "index.html").read_text("utf-8")


def example() -> ModuleType:
    """Load the example afresh, in a registry of one's own, whoever else has loaded it."""
    registry._entries.pop("nsd-ucrl2-ties", None)
    name = "first_index_ties"
    spec = importlib.util.spec_from_file_location(name, EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
