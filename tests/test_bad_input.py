"""Invalid input is refused with an error of ours, in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import foretell as ft

LAW = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]
THETA = [0.8, 0.4, 0.2]


def scenario(**fields: Any) -> ft.Scenario:
    return ft.Scenario(**{"law": LAW, "theta": THETA, **fields})


def simulated(spec: Any = "ucb", horizon: Any = 50, recipe: Any = None, **settings: Any) -> object:
    recipe = scenario() if recipe is None else recipe
    return ft.simulate(recipe, spec, horizon, **{"runs": 1, "compiled": False, **settings})


Case = tuple[Callable[[], object], str]

SCENARIOS: list[Case] = [
    (lambda: scenario(law=[[0.8, 0.1, 0.2], LAW[1]]), "action 0 must sum to 1, got"),
    (lambda: scenario(law=[LAW[0], [1.1, -0.1, 0.0]]), "action 1 must not hold a negative"),
    (lambda: scenario(law=[LAW[0], [float("nan")] * 3]), "action 1 must not hold a negative"),
    (lambda: scenario(law=[[0.5, 0.5], [0.5, 0.5]]), "one column per signal"),
    (lambda: scenario(law=[0.5, 0.5]), "a law must be a matrix"),
    (lambda: scenario(law=[[0.5, 0.5], [1.0]]), "a law must be a matrix"),
    (lambda: scenario(law="law"), "a law must be a matrix"),
    (lambda: scenario(law=LAW[:1]), "at least 2 actions, got 1"),
    (lambda: ft.Scenario(law=[[1.0], [1.0]], theta=[0.5]), "at least 2 signals, got 1"),
    (lambda: scenario(law=None), "either a law or segments"),
    (lambda: scenario(segments=[(0, LAW)]), "either a law or segments"),
    (ft.Scenario, "theta must be a list of numbers"),
    (lambda: scenario(theta="abc"), "theta must be a list of numbers"),
    (lambda: scenario(theta=[THETA]), "theta must be a list of numbers"),
    (lambda: scenario(theta=[0.8, 0.4, 1.2]), "theta must lie in the range of the rewards"),
    (lambda: scenario(theta=[0.8, 0.4, -0.1]), "got -0.1"),
    (lambda: scenario(theta=[0.8, 0.4, float("nan")]), "theta must lie in the range"),
    (
        lambda: scenario(theta=[1.0, 2.0, float("inf")], rewards=ft.rewards.Gaussian()),
        "within 1000 standard deviations of the centre 0.0, got inf",
    ),
    (lambda: scenario(alpha=1.5), "alpha is a probability"),
    (lambda: scenario(alpha=float("nan")), "alpha is a probability"),
    (lambda: scenario(alpha=0.3), "needs mu, one mean per action, got none"),
    (lambda: scenario(alpha=0.3, mu=[0.5]), "got 1 for 2 actions"),
    (lambda: scenario(alpha=0.3, mu=[0.5, 1.5]), "mu must lie in the range"),
    (lambda: scenario(mu=[0.5]), "got 1 for 2 actions"),
    (lambda: scenario(mu=[0.5] * 3), "got 3 for 2 actions"),
    (lambda: scenario(delay=-1), "at least 0 rounds, got -1"),
    (lambda: scenario(delay=2.5), "whole number of rounds"),
    (lambda: scenario(delay=True), "whole number of rounds"),
    (lambda: scenario(delay="long"), "whole number of rounds"),
    (lambda: scenario(delay=[1, 2]), "one for each of the 3 signals, got 2"),
    (
        lambda: scenario(law=None, segments=[(1, LAW), (5, LAW)]),
        "start at round 0 and increase",
    ),
    (lambda: scenario(law=None, segments=[(0, LAW), (0, LAW)]), "start at round 0 and increase"),
    (
        lambda: scenario(law=None, segments=[(0, LAW), (5, [*LAW, LAW[0]])]),
        "same number of actions",
    ),
    (
        lambda: scenario(law=None, segments=[(0, LAW)], changes=ft.shifts(at=[3])),
        "segments or changes, not both",
    ),
    (lambda: scenario(changes=ft.interpolation([(5, [[1, 2, 3]] * 2)])), "must sum to 1"),
    (lambda: ft.scenario("papper"), "there is no scenario 'papper': did you mean 'paper'"),
    (lambda: ft.scenario("paper", dealy=5), "did you mean 'delay'"),
    (lambda: ft.Problem(1, 3), "at least 2 actions"),
    (lambda: ft.Problem(3, 1), "at least 2 signals"),
    (lambda: ft.Problem(3, 3, horizon=0), "at least 1 round"),
]

DELAYS: list[Case] = [
    (lambda: ft.delays.ConstantDelay(-1), "at least 0 rounds, got -1"),
    (lambda: ft.delays.ConstantDelay(1.5), "whole number of rounds"),  # type: ignore[arg-type]
    (lambda: ft.delays.ConstantDelay(1, lost=1.0), "for rewards that never arrive use"),
    (lambda: ft.delays.ConstantDelay(1, lost=-0.1), "must lie in"),
    (lambda: ft.delays.UniformDelay(5, 2), "swap the two"),
    (lambda: ft.delays.UniformDelay(-5, 2), "low end of a uniform delay must be at least 0"),
    (lambda: ft.delays.GeometricDelay(0.0), "above 0, got 0.0"),
    (lambda: ft.delays.GeometricDelay(float("nan")), "above 0, got nan"),
    (lambda: ft.delays.LogNormalDelay(0.0, 1.0), "median of a log-normal delay"),
    (lambda: ft.delays.LogNormalDelay(1.0, -1.0), "sigma of a log-normal delay"),
    (lambda: ft.delays.ParetoDelay(-1.0, 1.0), "shape of a Pareto delay"),
    (lambda: ft.delays.ParetoDelay(1.0, float("inf")), "scale of a Pareto delay"),
    (lambda: ft.delays.TableDelay(()), "at least one delay"),
    (lambda: ft.delays.TableDelay((1, -2)), "a delay in a table must be at least 0"),
    (lambda: ft.delays.TableDelay((1, 2), (1.0,)), "one weight per delay, got 1"),
    (lambda: ft.delays.TableDelay((1, 2), (0.0, 0.0)), "positive sum"),
    (lambda: ft.delays.TableDelay((1, 2), (2.0, -1.0)), "non-negative"),
]

REWARDS: list[Case] = [
    (lambda: ft.rewards.Bernoulli(1.0, 0.0), "low < high"),
    (lambda: ft.rewards.Beta(0.0, float("inf")), "finite"),
    (lambda: ft.rewards.Beta(concentration=0.0), "concentration of Beta rewards"),
    (lambda: ft.rewards.Fixed(1.0, 1.0), "low < high"),
    (lambda: ft.rewards.Gaussian(0.0), "sigma of Gaussian rewards"),
    (lambda: ft.rewards.Gaussian(float("nan")), "sigma of Gaussian rewards"),
]

CHANGES: list[Case] = [
    (ft.shifts, "give one of the three, got none"),
    (lambda: ft.shifts(at=[3], every=5), "give one of the three, got at and every"),
    (lambda: ft.shifts(at=[0]), "from 1 on"),
    (lambda: ft.shifts(at=[2.5]), "whole numbers"),  # type: ignore[list-item]
    (lambda: ft.shifts(at=[5, 3]), "must increase"),
    (lambda: ft.shifts(at=[3, 3]), "must increase"),
    (lambda: ft.shifts(every=0), "at least 1"),
    (lambda: ft.shifts(hazard=1.5), "a probability per round"),
    (lambda: ft.redraws(at=[3], count=0), "at least 1"),
    (lambda: ft.redraws(at=[3], concentration=0.0), "above 0"),
    (lambda: ft.random_walk(0.0), "above 0"),
    (lambda: ft.random_walk(0.1, every=0), "at least 1"),
    (
        lambda: simulated(recipe=scenario(changes=ft.interpolation([(5, LAW), (3, LAW)]))),
        "must increase",
    ),
    (
        lambda: simulated(recipe=scenario(changes=ft.interpolation([(5, [*LAW, LAW[0]])]))),
        "has 3 actions, the first law 2",
    ),
    (
        lambda: simulated(recipe=scenario(changes=ft.shifts(at=[5], actions=[0]))),
        "at least 2 changing actions",
    ),
    (
        lambda: simulated(recipe=scenario(changes=ft.shifts(at=[5], actions=[0, 7]))),
        "distinct numbers from 0 to 1",
    ),
    (
        lambda: simulated(recipe=scenario(changes=ft.redraws(at=[5], count=3))),
        "3 actions cannot change at once",
    ),
]

SPECS: list[Case] = [
    (lambda: ft.policy("ubc"), "there is no policy 'ubc': did you mean 'ucb'"),
    (lambda: ft.policy("nsd-ucrl2(windw=5)"), "there is no field 'windw' of nsd-ucrl2"),
    (lambda: ft.policy("nsd-ucrl2(windw=5)"), "did you mean 'window'"),
    (lambda: ft.policy("uniform(x=1)"), "uniform has no fields, got 'x'"),
    (lambda: ft.policy("nsd-ucrl2(800)"), "takes its fields by name, got '800'"),
    (lambda: ft.policy("nsd-ucrl2(window=)"), "cannot read the fields"),
    (lambda: ft.policy("nsd-ucrl2(window=W)"), "cannot read the fields"),
    (lambda: ft.policy("nsd-ucrl2(window=__import__('os'))"), "cannot read the fields"),
    (lambda: ft.policy("nsd-ucrl2("), "cannot read the policy"),
    (lambda: ft.policy(""), "cannot read the policy"),
    (lambda: ft.policy("nsd-ucrl2(window=0)"), "at least 1 round, got 0: leave it out"),
    (lambda: ft.policy("nsd-ucrl2(window=2.5)"), "whole number of rounds, got 2.5"),
    (lambda: ft.NsdUcrl2(window=True), "whole number of rounds, got True"),
    (lambda: ft.NsdPsrl(window=-3), "at least 1 round, got -3"),
    (lambda: ft.SwUcb(window="800"), "whole number"),  # type: ignore[arg-type]
    (lambda: ft.NsdUcrl2(delta=0.0), r"delta must lie in \(0, 1\], got 0.0"),
    (lambda: ft.NsdUcrl2(delta=1.5), "delta must lie in"),
    (lambda: ft.NsdUcrl2(delta=float("nan")), "delta must lie in"),
    (lambda: ft.OracleNsd(delta="x"), "delta must lie in"),  # type: ignore[arg-type]
    (lambda: ft.Ucb(scale=-1.0), "scale must be a finite number of at least 0"),
    (lambda: ft.Ucb(scale=float("inf")), "scale must be a finite number"),
    (lambda: ft.OracleUcb(scale=float("nan")), "scale must be a finite number"),
    (lambda: ft.SwUcb(over="pulls"), "'rewards' or 'rounds', got 'pulls'"),
]

SIMULATE: list[Case] = [
    (lambda: simulated([]), "no policy to simulate"),
    (lambda: simulated("ubc"), "did you mean 'ucb'"),
    (lambda: simulated(["ucb", "ubc"]), "did you mean 'ucb'"),
    (lambda: simulated(horizon=0), "whole number of rounds, got 0"),
    (lambda: simulated(horizon=2.5), "whole number of rounds, got 2.5"),
    (lambda: simulated(horizon=True), "whole number of rounds, got True"),
    (lambda: simulated(runs=0), "runs must be a whole number of at least 1, got 0"),
    (lambda: simulated(runs=1.5), "runs must be a whole number"),
    (lambda: simulated(threads=0), "threads must be a whole number of at least 1"),
    (lambda: simulated(seed=-1), "seed must be a whole number of at least 0"),
    (lambda: simulated(seed=None), "seed must be a whole number"),
    (lambda: simulated(checkpoints=0), "checkpoints must be a whole number of at least 1"),
    (lambda: simulated(checkpoints=[]), "increasing rounds from 0 to 49"),
    (lambda: simulated(checkpoints=[50]), "increasing rounds from 0 to 49"),
    (lambda: simulated(checkpoints=[-1, 3]), "increasing rounds from 0 to 49"),
    (lambda: simulated(checkpoints=[5, 3]), "increasing rounds from 0 to 49"),
    (lambda: simulated(checkpoints=[1.5]), "increasing rounds from 0 to 49"),
    (lambda: simulated(checkpoints="all"), "increasing rounds from 0 to 49"),
]

ODD: list[Case] = [
    (lambda: ft.policy(5), "policy"),  # type: ignore[arg-type]
    (lambda: ft.policy("nsd-ucrl2(window=800, window=900)"), "window"),
    (lambda: ft.policy("nsd-ucrl2(window=1)(delta=0.5)"), "nsd-ucrl2"),
    (lambda: ft.shifts(every=2.5), "every"),  # type: ignore[arg-type]
    (lambda: ft.shifts(at=5), "at"),  # type: ignore[arg-type]
    (lambda: ft.shifts(hazard="x"), "hazard"),  # type: ignore[arg-type]
    (lambda: ft.redraws(at=[3], count=1.5), "count"),  # type: ignore[arg-type]
    (lambda: ft.random_walk(0.1, every=2.5), "every"),  # type: ignore[arg-type]
    (lambda: ft.delays.GeometricDelay("x"), "geometric"),  # type: ignore[arg-type]
    (lambda: scenario(changes=[5]), "changes"),
    (lambda: scenario(rewards="beta"), "rewards"),
    (lambda: scenario(alpha="x"), "alpha"),
    (lambda: scenario(law=None, segments=[(0, LAW), (2.5, LAW)]), "segments"),
    (lambda: scenario(law=None, segments=[LAW]), "segments"),
    (lambda: simulated(recipe="paper"), "scenario"),
    (lambda: simulated(checkpoints=[[1], [1, 2]]), "checkpoints"),
]


@pytest.mark.parametrize(
    ("call", "fragment"),
    [*SCENARIOS, *DELAYS, *REWARDS, *CHANGES, *SPECS, *SIMULATE],
)
def test_it_is_refused_in_one_sentence(call: Callable[[], object], fragment: str) -> None:
    with pytest.raises(ft.ForetellError, match=fragment) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("call", "fragment"), ODD)
def test_things_of_a_wrong_kind_are_refused_as_well(
    call: Callable[[], object], fragment: str
) -> None:
    with pytest.raises(ft.ForetellError, match=fragment) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("name", "fragment"),
    [("ucb", "is taken by Ucb"), ("My Policy", "lower-case words"), ("", "lower-case words")],
)
def test_a_policy_needs_a_name_of_its_own(name: str, fragment: str) -> None:
    from dataclasses import dataclass

    with pytest.raises(ft.ForetellError, match=fragment):

        @ft.register(name)
        @dataclass(frozen=True)
        class Mine(ft.Spec):
            """A policy."""


def test_a_spec_must_be_a_registered_dataclass() -> None:
    class Loose(ft.Ucb):
        pass

    with pytest.raises(ft.ForetellError, match="is not registered"):
        simulated(Loose())
    with pytest.raises(ft.ForetellError, match="must be a dataclass derived from"):
        ft.register("an-int")(int)  # type: ignore[type-var]


def test_a_window_of_numpy_is_a_window() -> None:
    assert str(ft.NsdUcrl2(window=np.int64(5))) == "nsd-ucrl2(window=5, delta=0.1)"  # type: ignore[arg-type]
    assert ft.shifts(at=np.arange(5, 20, 5)).when.at == (5, 10, 15)  # type: ignore[arg-type]
