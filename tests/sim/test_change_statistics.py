"""Changes found, false alarms, regret between changes: against twins, and where planted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from tests.reference import change_statistics as slow

HORIZON, RUNS = 60, 40
FIRST, OTHER = [[0.95, 0.05], [0.05, 0.95]], [[0.05, 0.95], [0.95, 0.05]]
SUDDEN = ft.Scenario(segments=[(0, FIRST), (400, OTHER)], theta=[0.1, 0.9])


@pytest.fixture(scope="module")
def planted() -> ft.Batch:
    """Return a batch whose gaps, changes and alarms are drawn at random, some rounds with both."""
    recipe = ft.scenario("paper-stationary")
    batch = ft.simulate(recipe, "nsd-kl-glr", HORIZON, RUNS, trajectories=True, compiled=False)
    rng = np.random.default_rng(3)
    changes = rng.random((RUNS, HORIZON)) < rng.choice([0.0, 0.05, 0.2], (RUNS, 1))
    changes[:, 0] = False
    alarms = rng.poisson(rng.choice([0.0, 0.1, 0.5], (RUNS, 1)), (RUNS, HORIZON)).astype(np.int32)
    gaps = rng.random((RUNS, HORIZON))
    traced = batch.traced._replace(changes=changes, alarms=alarms, gaps=gaps)
    return dataclasses.replace(batch, trajectories=traced)


@pytest.mark.parametrize("within", [None, 0, 3, 1000])
def test_delays_and_false_alarms_are_those_of_a_walk_through_all_rounds(
    planted: ft.Batch, within: int | None
) -> None:
    found = ft.detection_delay(planted, within)
    false = ft.false_alarms(planted, within)
    for run in range(RUNS):
        changes, alarms = planted.changes[run].tolist(), planted.alarms[run].tolist()
        expected = slow.delays(changes, alarms, HORIZON, np.inf if within is None else within)
        np.testing.assert_array_equal(found[run], expected)
        assert false[run] == slow.count_false(changes, alarms, HORIZON, within)


def test_every_alarm_is_false_or_finds_a_change(planted: ft.Batch) -> None:
    detected = [np.isfinite(delays).sum() for delays in ft.detection_delay(planted)]
    raised = [alarms.size for alarms in planted.alarms]
    np.testing.assert_array_equal(np.add(detected, ft.false_alarms(planted)), raised)


def test_regret_between_changes_is_that_of_a_walk_through_all_rounds(planted: ft.Batch) -> None:
    since, segments = ft.regret_since_change(planted), ft.regret_per_segment(planted)
    for run in range(RUNS):
        changes, gaps = planted.changes[run].tolist(), planted.traced.gaps[run].tolist()
        np.testing.assert_allclose(since[run], slow.regrets_since(changes, gaps))
        np.testing.assert_allclose(segments[run], slow.segment_regrets(changes, gaps))
        last = [*(change - 1 for change in changes), HORIZON - 1]
        np.testing.assert_allclose(segments[run], since[run, last])


@pytest.mark.parametrize("spec", ["nsd-kl-glr", "nsd-psrl-cp", "nsd-adaptive", "signal-glr-kl-ucb"])
def test_a_plain_change_of_the_signals_is_found_soon(spec: str) -> None:
    batch = ft.simulate(SUDDEN, spec, 600, 2, seed=1, trajectories=True, compiled=False)
    for delays in ft.detection_delay(batch):
        assert 0 < delays[0] < 60
    assert (ft.false_alarms(batch, within=60) <= 1).all()
    total = [regrets.sum() for regrets in ft.regret_per_segment(batch)]
    np.testing.assert_allclose(total, batch.final)


@pytest.mark.parametrize("spec", ["glr-kl-ucb", "m-ucb(width=100)", "cusum-ucb(first=40)"])
def test_policies_that_test_rewards_find_a_change_after_its_delay(spec: str) -> None:
    recipe = dataclasses.replace(SUDDEN, delay=30)
    batch = ft.simulate(recipe, spec, 700, 2, seed=1, trajectories=True, compiled=False)
    for delays in ft.detection_delay(batch):
        assert 30 < delays[0] < 250


def test_what_is_not_there_is_said_in_one_sentence(planted: ft.Batch) -> None:
    recipe = ft.scenario("paper-stationary")
    silent = ft.simulate(recipe, "ucb", 30, 2, trajectories=True, compiled=False)
    with pytest.raises(InvalidInput, match="ucb raises no alarms"):
        ft.detection_delay(silent)
    short = ft.simulate(recipe, "nsd-kl-glr", 30, 2, compiled=False)
    for function in (ft.detection_delay, ft.false_alarms, ft.regret_since_change):
        with pytest.raises(InvalidInput, match="with trajectories=True"):
            function(short)
    with pytest.raises(InvalidInput, match="within must be a whole number"):
        ft.false_alarms(planted, within=-1)
