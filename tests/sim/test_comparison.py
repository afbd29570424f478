"""Comparisons are paired, honest about several policies, and refuse runs that are no pairs."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats

import foretell as ft
from foretell.errors import InvalidInput, UnknownName
from foretell.sim.comparison import may_be_best
from foretell.stats.paired_tests import holm_adjusted

RECIPE = ft.scenario("paper", delay=20, changes=ft.shifts(at=[100]))
SPECS = ["ucb", "nsd-psrl(window=60)", "uniform"]


@pytest.fixture(scope="module")
def batches() -> ft.Batches:
    return ft.simulate(RECIPE, SPECS, 200, 12, seed=3, compiled=False)


def drawn(means: list[float], runs: int, rng: np.random.Generator) -> ft.Batches:
    """Return batches whose final regret is a draw around each mean, with a part that is shared."""
    blank = ft.simulate(RECIPE, "uniform", 1, runs, compiled=False)
    luck = rng.normal(0.0, 3.0, runs)
    made = {}
    for number, mean in enumerate(means):
        regret = (mean + luck + rng.normal(0.0, 1.0, runs))[:, None]
        spec = ft.SwUcb(window=number + 1)
        made[str(spec)] = dataclasses.replace(blank, spec=spec, regret=regret)
    return ft.Batches(made)


def test_numbers_are_those_of_scipy(batches: ft.Batches) -> None:
    compared = batches.compare("ucb")
    tests = []
    for name, batch in batches.items():
        row = compared[name]
        assert row.mean == batch.final.mean()
        difference = batch.final - batches["ucb"].final
        assert row.difference == pytest.approx(difference.mean())
        if name == "ucb":
            assert (row.p, row.p_holm, row.low, row.high, row.wins) == (1.0, 1.0, 0.0, 0.0, 0.5)
            continue
        interval = stats.ttest_1samp(difference, 0.0).confidence_interval(0.95)
        assert (row.low, row.high) == pytest.approx(tuple(interval))
        assert row.p == pytest.approx(stats.wilcoxon(difference, method="exact").pvalue)
        assert row.wins == np.mean(difference < 0.0)
        tests.append(row.p)
    adjusted = [row.p_holm for row in compared.rows if row.policy != "ucb"]
    assert adjusted == holm_adjusted(tests)
    assert compared.may_be_best == ("nsd-psrl(window=60)",)


def test_the_best_policy_is_kept_as_often_as_the_level_says() -> None:
    """Ten equal policies: any is truly best; one that is better by far stays alone."""
    rng = np.random.default_rng(1)
    first = "sw-ucb(window=1)"
    sets = [may_be_best(drawn([5.0] * 10, 15, rng), 0.9) for _ in range(30)]
    assert sum(first not in one for one in sets) <= 8
    assert may_be_best(drawn([1.0, 9.0, 9.0], 15, rng), 0.95) == {first}


def test_the_order_of_policies_does_not_matter(batches: ft.Batches) -> None:
    turned = ft.Batches(dict(reversed(list(batches.items()))))
    one, other = batches.compare("uniform"), turned.compare("uniform")
    assert set(one.rows) == set(other.rows)


def test_a_policy_that_equals_the_baseline_differs_by_nothing(batches: ft.Batches) -> None:
    twin = dataclasses.replace(batches["ucb"], spec=ft.SwUcb(window=10**6))
    compared = ft.Batches({"ucb": batches["ucb"], str(twin.spec): twin}).compare("ucb")
    assert compared.rows[1].p == 1.0
    assert compared.may_be_best == ("ucb", str(twin.spec))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"seed": 4}, "the seed of ucb is 3 and that of uniform 4"),
        ({"horizon": 100}, "the horizon of ucb is 200"),
        ({"first_run": 5}, "the first run of ucb is 0"),
        ({"regret": np.zeros((3, 200))}, "the number of runs of ucb is 12"),
        ({"rounds": np.arange(100)}, "the last checkpoint of ucb is 199"),
        ({"scenario": ft.scenario("paper")}, "in different scenarios"),
    ],
)
def test_runs_that_are_no_pairs_are_refused(
    batches: ft.Batches, other: dict[str, object], words: str
) -> None:
    changed = dataclasses.replace(batches["uniform"], **other)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=words) as caught:
        ft.Batches({"ucb": batches["ucb"], "uniform": changed}).compare("ucb")
    assert "\n" not in str(caught.value)


def test_wrong_names_and_levels_are_refused(batches: ft.Batches) -> None:
    with pytest.raises(UnknownName):
        batches.compare("sw-ucb")
    with pytest.raises(UnknownName):
        batches.compare("ucb")["sw-ucb"]
    with pytest.raises(InvalidInput, match="must lie in"):
        batches.compare("ucb", level=95)


def test_a_comparison_is_a_table_as_text_as_html_and_as_a_frame(batches: ft.Batches) -> None:
    compared = batches.compare("ucb", level=0.9)
    lines = str(compared).splitlines()
    assert lines[0] == "Final regret against ucb, 12 paired runs, 90% intervals"
    assert len(lines) == 5
    assert compared._repr_html_().count("<tr>") == 4
    frame = compared.to_frame("polars")
    assert frame["policy"].to_list() == list(batches)
    assert frame["may_be_best"].to_list() == [False, True, False]
