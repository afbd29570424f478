"""Compiled baselines give the bytes of the plain ones, and rank as theory says."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft

SPECS = (
    "kl-ucb",
    "glr-kl-ucb(alpha=0.1)",
    "signal-glr-kl-ucb",
    "d-ucb(gamma=0.99)",
    "d-ts(gamma=0.99)",
    "ts",
    "sw-ts(window=100)",
    "exp3s(changes=2)",
    "metabio",
    "oracle-psrl",
)

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("spec", SPECS)
def test_compiled_is_plain_to_the_byte(spec: str) -> None:
    scenario = ft.scenario("paper", delay=20, changes=ft.shifts(at=[250, 400]))
    runs = [
        ft.simulate(scenario, spec, 600, 2, seed=5, trajectories=True, compiled=compiled)
        for compiled in (True, False)
    ]
    assert runs[0].regret.tobytes() == runs[1].regret.tobytes()
    assert runs[0].trajectories is not None
    assert runs[1].trajectories is not None
    np.testing.assert_array_equal(runs[0].trajectories.actions, runs[1].trajectories.actions)


def test_rewards_alone_rank_as_their_theory_says_when_nothing_changes() -> None:
    batches = ft.simulate(
        ft.scenario("paper-stationary", delay=0), ["ucb", "kl-ucb", "ts", "uniform"], 4000, 30
    )
    ends = {name: batch.final.mean() for name, batch in batches.items()}
    assert ends["kl-ucb"] < 0.8 * ends["ucb"]
    assert ends["ts"] < 0.8 * ends["ucb"]
    assert ends["ucb"] < 0.5 * ends["uniform"]


def test_forgetting_and_restarting_pay_when_the_law_changes() -> None:
    scenario = ft.scenario("besson-1")
    specs = ["kl-ucb", "glr-kl-ucb", "signal-glr-kl-ucb", "ts", "sw-ts(window=600)", "d-ts"]
    batches = ft.simulate(scenario, specs, 20_000, 10)
    assert batches["glr-kl-ucb"].final.mean() < 0.6 * batches["kl-ucb"].final.mean()
    assert batches["signal-glr-kl-ucb"].final.mean() < 0.6 * batches["kl-ucb"].final.mean()
    assert batches["sw-ts(window=600)"].final.mean() < batches["ts"].final.mean()
    assert batches["d-ts"].final.mean() < batches["ts"].final.mean()


def test_knowing_the_changes_beats_any_window() -> None:
    specs = ["oracle-psrl", "nsd-psrl(window=800)", "oracle-nsd"]
    batches = ft.simulate(ft.scenario("paper", delay=100), specs, 8000, 10)
    best = batches["oracle-psrl"].final.mean()
    assert best < 0.5 * batches["nsd-psrl(window=800)"].final.mean()
    assert best < 0.5 * batches["oracle-nsd"].final.mean()
