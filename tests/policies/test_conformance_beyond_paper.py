"""Every policy beyond the paper obeys the laws of policies, compiled as plain."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.worlds.suite import suite_entry

SPECS = [
    "nsd-ucrl2(window=50, tight=True)",
    "nsd-kl",
    "nsd-kl(window=50)",
    "nsd-kl(level='ln t')",
    "nsd-kl(window=50, level='ln t')",
    "nsd-kl-glr",
    "nsd-kl-glr(local=True, reseed=False, forced=0)",
    "nsd-kl-glr(robust=True)",
    "nsd-psrl-cp",
    "nsd-psrl-cp(coupling=1.0)",
    "nsd-psrl-cp(robust=True)",
    "nsd-adaptive",
    "nsd-psrl(ordered=True, censored=True, typical_delay=40.0)",
    "nsd-psrl-cp(censored=True, typical_delay=(40.0, 20.0, 90.0))",
    "nsd-psrl(window=50, ordered=True)",
    "nsd-adaptive(ordered=True)",
    "nsd-ucrl2(window=50, scale=0.1, ordered=True)",
    "nsd-kl(level='ln t', ordered=True)",
    "nsd-kl-glr(ordered=True)",
    "oracle-psrl(ordered=True)",
    "oracle-theta",
    "oracle-theta(keep=False)",
]
CHANGING = ft.Scenario(
    law=[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]],
    theta=[0.8, 0.4, 0.2],
    changes=ft.shifts(every=400),
    delay=60,
    alpha=0.5,
    mu=[0.1, 0.1, 0.1, 0.9],
)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_it_obeys_every_law_of_policies(spec: str) -> None:
    assert len(ft.check_policy(spec)) >= 10


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", [*SPECS, "nsd-adaptive(ordered=True, signal_values=(0.1, 0.2, 0.6))"]
)
def test_compiled_and_plain_runs_are_equal(spec: str) -> None:
    compiled = ft.simulate(CHANGING, spec, 900, 1, seed=1)
    plain = ft.simulate(CHANGING, spec, 900, 1, seed=1, compiled=False)
    np.testing.assert_array_equal(compiled.regret, plain.regret)
    np.testing.assert_array_equal(compiled.actions, plain.actions)


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("spec", ["nsd-adaptive", "oracle-theta", "oracle-theta(keep=False)"])
def test_compiled_and_plain_runs_are_equal_where_theta_moves(spec: str) -> None:
    moving = dataclasses.replace(
        CHANGING, alpha=0.0, mu=None, theta_changes=ft.theta_steps([(300, [0.1, 0.3, 0.9])])
    )
    compiled, plain = (ft.simulate(moving, spec, 900, 1, compiled=c) for c in (True, False))
    np.testing.assert_array_equal(compiled.regret, plain.regret)


@pytest.mark.parametrize("spec", ["nsd-kl", "nsd-kl-glr", "nsd-psrl-cp", "nsd-adaptive"])
def test_the_horizon_is_not_used(spec: str) -> None:
    runs = [
        ft.simulate(CHANGING, spec, horizon, 1, seed=2, checkpoints=[499], compiled=False)
        for horizon in (500, 700)
    ]
    assert runs[0].regret[0, 0] == runs[1].regret[0, 0]


@pytest.mark.parametrize("spec", ["nsd-psrl-cp", "nsd-adaptive"])
def test_gaussian_rewards_are_learned(spec: str) -> None:
    scenario = ft.Scenario(
        law=[[0.9, 0.1], [0.1, 0.9]], theta=[2.0, -1.0], rewards=ft.rewards.Gaussian(sigma=1.0)
    )
    batch = ft.simulate(scenario, spec, 300, 3, seed=0, compiled=False)
    assert batch.final.mean() < 0.2 * 150 * 2.4


@pytest.mark.parametrize(
    "text",
    [
        "nsd-kl(window=0)",
        "nsd-kl(delta=0)",
        "nsd-kl(level='ln')",
        "nsd-kl-glr(forced=-1)",
        "nsd-kl-glr(local=1)",
        "nsd-psrl-cp(coupling=2)",
        "nsd-psrl-cp(idle=-1)",
        "nsd-psrl-cp(sharpness=0)",
        "nsd-ucrl2(tight=1)",
    ],
)
def test_bad_options_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        ft.policy(text)


@pytest.mark.compiled
@pytest.mark.slow
def test_the_tight_constants_halve_the_regret() -> None:
    batches = ft.simulate(
        ft.scenario("paper", delay=100),
        ["nsd-ucrl2(window=800)", "nsd-ucrl2(window=800, tight=True)"],
        8000,
        20,
        seed=0,
    )
    literal, tight = (batch.final.mean() for batch in batches.values())
    assert tight < 0.6 * literal


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_it_matches_glr_kl_ucb_where_the_reward_is_the_signal(number: int) -> None:
    """With signals that are the rewards, and as many forced plays, the two are one algorithm."""
    entry = suite_entry(f"besson-{number}")
    batches = ft.simulate(
        entry.scenario, ["glr-kl-ucb", "nsd-kl-glr(forced=1.0)"], entry.horizon, 200, seed=0
    )
    reference, ours = (batch.final.mean() for batch in batches.values())
    assert 0.8 <= ours / reference <= 1.25


@pytest.mark.compiled
@pytest.mark.slow
def test_a_theta_that_moves_is_found_nearly_as_well_as_if_its_changes_were_known() -> None:
    entry = suite_entry("theta-changes")
    specs = ["nsd-adaptive", "nsd-psrl-cp", "oracle-theta"]
    batches = ft.simulate(entry.scenario, specs, entry.horizon, 20, seed=11)
    ours, never, known = (batch.final.mean() for batch in batches.values())
    assert ours < 0.6 * never
    assert ours < 1.5 * known


@pytest.mark.compiled
@pytest.mark.slow
def test_nsd_adaptive_in_the_papers_scenario() -> None:
    batches = ft.simulate(
        ft.scenario("paper", delay=500),
        ["nsd-ucrl2(window=800)", "oracle-psrl", "nsd-adaptive"],
        8000,
        30,
        seed=0,
    )
    literal, oracle, adaptive = (batch.final.mean() for batch in batches.values())
    assert adaptive <= 0.4 * literal
    assert adaptive <= 1.35 * oracle
