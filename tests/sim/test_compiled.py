"""Compiled and plain runs are equal to the byte, for every registered policy."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import foretell as ft

LAW = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.1, 0.4, 0.5]]
THETA = [0.8, 0.4, 0.2]
HORIZON = 300

SCENARIOS = {
    "constant delay": ft.Scenario(
        law=LAW, theta=THETA, delay=40, changes=ft.shifts(at=[100, 101, 200])
    ),
    "random delays, Beta rewards, walk": ft.Scenario(
        law=LAW,
        theta=THETA,
        rewards=ft.rewards.Beta(concentration=0.8),
        delay=[
            ft.delays.GeometricDelay(20.0, lost=0.1),
            ft.delays.LogNormalDelay(30.0, 1.0),
            ft.delays.ParetoDelay(1.2, 10.0),
        ],
        changes=ft.random_walk(0.5),
    ),
    "mixture, table, drift": ft.Scenario(
        law=LAW,
        theta=THETA,
        alpha=0.3,
        mu=[0.9, 0.1, 0.1, 0.1],
        rewards=ft.rewards.Beta(),
        delay=ft.delays.TableDelay((0, 5, 90), (1.0, 2.0, 1.0)),
        changes=ft.interpolation([(250, LAW[::-1])]),
    ),
    "no reward, redraws": ft.Scenario(
        law=LAW, theta=THETA, delay=ft.delays.NeverDelay(), changes=ft.redraws(hazard=0.02)
    ),
}
GAUSSIAN = ft.Scenario(
    law=LAW,
    theta=[3.0, 1.0, -2.0],
    rewards=ft.rewards.Gaussian(sigma=2.0, centre=1.0),
    delay=ft.delays.UniformDelay(0, 60),
    changes=ft.redraws(every=70, count=2),
)


def assert_same_bytes(recipe: ft.Scenario, spec: ft.Spec) -> None:
    compiled, plain = (
        ft.simulate(recipe, spec, HORIZON, runs=2, seed=11, trajectories=True, compiled=compiled)
        for compiled in (True, False)
    )
    assert compiled.regret.tobytes() == plain.regret.tobytes()
    assert compiled.actions.tobytes() == plain.actions.tobytes()
    assert compiled.trajectories is not None
    assert plain.trajectories is not None
    for field in compiled.trajectories._fields:
        one, other = getattr(compiled.trajectories, field), getattr(plain.trajectories, field)
        if field == "alarms" and one is None:
            assert other is None
            continue
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def spec_of(name: str) -> ft.Spec:
    windowed = "window" in ft.registered_policies()[name].spec.__dataclass_fields__
    return ft.policy(f"{name}(window=60)" if windowed else name)


@pytest.mark.compiled
@pytest.mark.parametrize("name", list(ft.registered_policies()))
def test_compiled_and_plain_runs_are_equal_to_the_byte(name: str) -> None:
    known = ft.registered_policies()[name]
    for recipe in SCENARIOS.values():
        if "bounded" in known.rewards:
            assert_same_bytes(recipe, spec_of(name))
    if "gaussian" in known.rewards:
        assert_same_bytes(GAUSSIAN, spec_of(name))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "text",
    [
        "sw-ucb(window=40, over='rounds')",
        "sw-ucb",
        "nsd-ucrl2(scale=0.1)",
        "nsd-psrl",
        "ucb(scale=0.2)",
    ],
)
def test_other_hyper_parameters_are_equal_too(text: str) -> None:
    for recipe in (*SCENARIOS.values(), GAUSSIAN):
        assert_same_bytes(recipe, ft.policy(text))


@pytest.mark.compiled
def test_extreme_delays_are_equal_too() -> None:
    for delay in (ft.delays.ParetoDelay(0.3, 1.0), ft.delays.LogNormalDelay(1e15, 4.0)):
        assert_same_bytes(ft.Scenario(law=LAW, theta=THETA, delay=delay), ft.Ucb())


@pytest.mark.compiled
def test_more_pending_rewards_than_there_is_room_for_at_first() -> None:
    recipe = ft.Scenario(law=LAW, theta=THETA, delay=ft.delays.UniformDelay(0, 3000))
    compiled, plain = (
        ft.simulate(recipe, "nsd-ucrl2(window=60)", 4000, runs=1, compiled=compiled)
        for compiled in (True, False)
    )
    assert compiled.regret.tobytes() == plain.regret.tobytes()


@pytest.mark.compiled
def test_numbers_do_not_depend_on_threads() -> None:
    recipe = SCENARIOS["random delays, Beta rewards, walk"]
    specs = ["ucb", "nsd-ucrl2(window=60)", "nsd-psrl(window=60)"]
    one, two, many = (
        ft.simulate(recipe, specs, HORIZON, runs=7, seed=2, threads=threads)
        for threads in (1, 2, 5)
    )
    for text in specs:
        assert one[text].regret.tobytes() == two[text].regret.tobytes()
        assert one[text].regret.tobytes() == many[text].regret.tobytes()
        assert one[text].actions.tobytes() == many[text].actions.tobytes()


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["random delays, Beta rewards, walk", "no reward, redraws"])
@pytest.mark.parametrize("spec", ["nsd-ucrl2(window=60)", "nsd-adaptive", "oracle-nsd"])
def test_numbers_do_not_depend_on_how_runs_are_shared_out(
    name: str, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for runs in (1, 3, 100):
        monkeypatch.setattr(import_module("foretell.sim.simulate"), "WORK", runs * HORIZON * 12)
        for compiled in (True, False):
            batch = ft.simulate(SCENARIOS[name], spec, HORIZON, 7, seed=3, compiled=compiled)
            found.add(batch.regret.tobytes() + batch.actions.tobytes())
    assert len(found) == 1


@pytest.mark.compiled
@pytest.mark.parametrize("delay", [ft.delays.UniformDelay(0, 3000), ft.delays.ConstantDelay(2500)])
def test_runs_that_need_more_room_go_on_where_they_were(delay: ft.delays.Delay) -> None:
    recipe = ft.Scenario(law=LAW, theta=THETA, delay=delay)
    many, few = (
        ft.simulate(recipe, "nsd-ucrl2(window=60)", 4000, runs=runs, threads=1) for runs in (4, 1)
    )
    assert many.regret[:1].tobytes() == few.regret.tobytes()
    plain = ft.simulate(recipe, "nsd-ucrl2(window=60)", 4000, runs=2, compiled=False, threads=1)
    assert many.regret[:2].tobytes() == plain.regret.tobytes()


@pytest.mark.compiled
def test_a_compiled_run_is_played_again_by_its_seed_alone() -> None:
    recipe = SCENARIOS["constant delay"]
    one = ft.simulate(recipe, "nsd-psrl(window=60)", HORIZON, runs=3, seed=9)
    other = ft.simulate(recipe, "nsd-psrl(window=60)", HORIZON, runs=5, seed=9)
    np.testing.assert_array_equal(one.regret, other.regret[:3])
    assert (ft.simulate(recipe, "nsd-psrl(window=60)", HORIZON, 3, 8).regret != one.regret).any()
