"""Every index of the paper's policies equals the one recomputed from the whole past."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.policies.registry import entry
from foretell.policies.verbs import choose
from foretell.types import Floats
from tests.reference.counts import (
    Past,
    arrived,
    before,
    history,
    in_window,
    plays,
    rewards_of,
    transitions,
)
from tests.reference.indices import Setting, all_indices
from tests.reference.replay import indices_of, states_of

HORIZON = 130
CHANGES = (1, 30, 31, 90)
LAW = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.1, 0.7], [0.3, 0.4, 0.3]]

SPECS = [
    "ucb",
    "ucb(scale=0.3)",
    "sw-ucb(window=25)",
    "sw-ucb(window=1)",
    "sw-ucb(window=500)",
    "sw-ucb",
    "sw-ucb(window=25, over='rounds')",
    "sw-ucb(window=1, over='rounds')",
    "sw-ucb(window=25, scale=0.2, over='rounds')",
    "nsd-ucrl2",
    "nsd-ucrl2(window=1)",
    "nsd-ucrl2(window=20)",
    "nsd-ucrl2(window=20, delta=1.0, scale=0.1)",
    "nsd-ucrl2(window=500, scale=0.05)",
    "nsd-ucrl2(window=20, tight=True)",
    "nsd-ucrl2(window=50, scale=0.05, tight=True)",
    "oracle-ucb",
    "oracle-ucb-nd",
    "oracle-nsd",
    "oracle-nsd(delta=0.5, scale=0.1)",
    "oracle-nsd-nd",
    "oracle-nsd-nd(scale=0.1)",
]

DELAYS: dict[str, ft.delays.Delay | list[ft.delays.Delay | int]] = {
    "none": ft.delays.ConstantDelay(0),
    "constant": ft.delays.ConstantDelay(13),
    "beyond the window": ft.delays.ConstantDelay(40),
    "uniform": ft.delays.UniformDelay(0, 30),
    "geometric with losses": ft.delays.GeometricDelay(8.0, lost=0.3),
    "per signal": [0, ft.delays.LogNormalDelay(6.0, 1.2), ft.delays.NeverDelay()],
}


def scenario(delay: str, rewards: ft.rewards.RewardFamily) -> ft.Scenario:
    return ft.Scenario(
        law=LAW,
        theta=[0.9, 0.4, 0.1],
        changes=ft.shifts(at=CHANGES),
        rewards=rewards,
        delay=DELAYS[delay],
    )


def played(
    spec: ft.Spec, delay: str, rewards: ft.rewards.RewardFamily, seed: int
) -> tuple[list[Past], ft.Problem, Setting]:
    """Return the history of a run of the policy itself, its problem and its setting."""
    recipe = scenario(delay, rewards)
    batch = ft.simulate(recipe, spec, HORIZON, runs=1, seed=seed, trajectories=True, compiled=False)
    assert batch.trajectories is not None
    problem = recipe.problem(HORIZON, CHANGES)
    ceiling = 1.0 if problem.rewards == "bounded" else np.inf
    setting = Setting(len(LAW), 3, HORIZON, ceiling, CHANGES)
    return history(batch.trajectories, 0), problem, setting


def assert_twins(
    spec: ft.Spec, whole: list[Past], problem: ft.Problem, setting: Setting
) -> list[Floats]:
    values = []
    for t, state in states_of(spec, problem, whole):
        expected = all_indices(spec, whole, t, setting)
        np.testing.assert_allclose(
            indices_of(state, t, setting.actions), expected, rtol=0, atol=1e-10
        )
        values.append(expected)
    return values


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("text", SPECS)
def test_indices_are_those_of_the_whole_past(text: str, delay: str) -> None:
    spec = ft.policy(text)
    whole, problem, setting = played(spec, delay, ft.rewards.Beta(), seed=SPECS.index(text))
    assert not entry(spec).undelayed or all(one.delay == 0 for one in whole)
    values = assert_twins(spec, whole, problem, setting)
    for one in whole:
        best = values[one.round].max()
        assert values[one.round][one.action] >= best - 1e-10


@pytest.mark.parametrize(
    "text", ["ucb", "sw-ucb(window=25)", "nsd-ucrl2(window=20, scale=0.1)", "oracle-nsd"]
)
def test_indices_of_gaussian_rewards_are_not_capped(text: str) -> None:
    spec = ft.policy(text)
    whole, problem, setting = played(spec, "uniform", ft.rewards.Gaussian(sigma=1.0), seed=4)
    values = assert_twins(spec, whole, problem, setting)
    assert np.isfinite(values[-1]).all()
    assert np.max(values[-1]) > 1.0 or "0.1" in text


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("window", [None, 1, 20, 500])
def test_posteriors_of_psrl_are_those_of_the_whole_past(window: int | None, delay: str) -> None:
    spec = ft.NsdPsrl(window=window)
    whole, problem, setting = played(spec, delay, ft.rewards.Beta(), seed=window or 0)
    for t, state in states_of(spec, problem, whole):
        past = before(whole, t)
        recent = in_window(past, t, window or np.inf)
        expected = transitions(recent, setting.actions, setting.signals)
        np.testing.assert_array_equal(state.law.counts, expected)
        received, sums = rewards_of(arrived(past, t), setting.signals)
        np.testing.assert_array_equal(state.theta.counts, received)
        np.testing.assert_allclose(state.theta.grains / 2**30, sums, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(state.law.ever, plays(past, setting.actions) > 0)


def test_psrl_chooses_as_its_posterior_does() -> None:
    spec = ft.NsdPsrl(window=60)
    whole, problem, setting = played(spec, "uniform", ft.rewards.Bernoulli(), seed=1)
    *_, (t, state) = states_of(spec, problem, whole)
    counts = transitions(in_window(whole, t, 60), setting.actions, setting.signals)
    received, sums = rewards_of(arrived(whole, t), setting.signals)
    rng, draws = np.random.default_rng(0), 4000
    theta = rng.beta(1 + sums, 1 + received - sums, (draws, setting.signals))
    laws = np.stack([rng.dirichlet(1 + row, draws) for row in counts], axis=1)
    twins = np.argmax(np.einsum("das,ds->da", laws, theta), axis=1)
    eligible = np.ones(setting.actions, np.bool_)
    chosen = [choose(state, t, eligible, rng) for _ in range(draws)]
    np.testing.assert_allclose(
        np.bincount(chosen, minlength=4) / draws,
        np.bincount(twins, minlength=4) / draws,
        atol=0.05,
    )


def test_gaussian_psrl_samples_the_conjugate_posterior() -> None:
    spec = ft.NsdPsrl()
    whole, problem, setting = played(spec, "constant", ft.rewards.Gaussian(sigma=1.0), seed=2)
    *_, (t, state) = states_of(spec, problem, whole)
    received, sums = rewards_of(arrived(whole, t), setting.signals)
    rng = np.random.default_rng(0)
    eligible = np.ones(setting.actions, np.bool_)
    drawn = []
    for _ in range(4000):
        choose(state, t, eligible, rng)
        drawn.append(state.scratch_theta.copy())
    assert received.min() > 5
    np.testing.assert_allclose(np.mean(drawn, axis=0), sums / (received + 1), atol=0.03)
    np.testing.assert_allclose(np.var(drawn, axis=0), 1 / (received + 1), rtol=0.15)


def test_a_reward_is_usable_from_the_round_after_its_delay() -> None:
    """With D = 3 the reward of round 0 counts in round 4, and not in round 3."""
    whole = [Past(t, t % 2, 0, 1.0, 3) for t in range(6)]
    states = states_of(ft.Ucb(), ft.Problem(2, 2, horizon=10), whole)
    received = {t: int(state.rewards.counts.sum()) for t, state in states}
    assert received == {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 2, 6: 3}
