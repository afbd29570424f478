"""The long study reads slopes right; its runs are too long for a test, so they are made up."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.policies import Spec
from foretell.sim.result import Batch, Batches
from foretell.studies.claim import Results
from foretell.studies.paper import LONG, chosen_studies
from foretell.studies.paper.long_run import BLIND, CHECKPOINTS, DECADES, PROBLEMS, SIGNALS, slopes
from foretell.studies.plan import Panel

SLOPES = {BLIND[0]: 6.0, BLIND[1]: 5.0, SIGNALS[0]: 3.0, SIGNALS[1]: 2.0}


def made_up(panel: Panel, spec: Spec) -> Batch:
    """Return runs whose regret is a slope times ln T, a little more in each run."""
    rounds = np.array(panel.checkpoints)
    runs = SLOPES[spec] + np.array([-0.01, 0.0, 0.01])
    regret = runs[:, None] * np.log(rounds + 1.0)
    return Batch(spec, panel.scenario, panel.horizon, 0, rounds, regret, np.zeros((3, 4), int), {})


@pytest.fixture
def results() -> Results:
    (study,) = LONG.values()
    return {
        panel.name: Batches({str(spec): made_up(panel, spec) for spec in panel.specs})
        for panel in study.panels
    }


def test_every_decade_is_written() -> None:
    assert {rounds - 1 for rounds in DECADES} <= set(CHECKPOINTS)


def test_a_slope_is_regret_per_logarithm(results: Results) -> None:
    for problem in PROBLEMS:
        for spec, slope in SLOPES.items():
            for decade in slopes(results, problem, spec):
                np.testing.assert_allclose(decade, slope + np.array([-0.01, 0.0, 0.01]))


def test_charts_and_tables_set_them_beside_the_constants(results: Results) -> None:
    (study,) = LONG.values()
    (chart,) = study.charts(results)
    assert [len(axes.series) for axes in chart.axes] == [6, 6]
    table = study.tables(results)[0]
    assert [row[-1] for row in table.rows] == [0.928, 0.928, 4.102, 4.102] + [2.693] * 2 + [
        5.547
    ] * 2


def test_the_claim_needs_slopes_below_what_is_possible_without_signals(results: Results) -> None:
    (study,) = LONG.values()
    for verdict in study.verdicts(results, lambda _names, _times: results):
        assert verdict.word == "supported"
        assert verdict.control.holds is False


def test_it_runs_only_where_it_is_named() -> None:
    (study,) = LONG.values()
    assert chosen_studies(["long-run"]) == [study]
    assert study not in chosen_studies(["all"])
    assert chosen_studies(["all", "long-run"])[-1] is study
