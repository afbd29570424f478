"""Ordered theta equals its slow twin, holds what is declared, and lets data overrule it."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.policies.parts.ordered_theta import (
    OVERRULED,
    ThetaPrior,
    new_theta_prior,
    order_upper,
    sample_theta,
)
from foretell.policies.parts.theta import Rewards, add_reward, new_rewards, sample_means
from foretell.policies.parts.theta_bounds import bounds_update, new_theta_bounds
from foretell.policies.registry import start
from foretell.policies.theta_spec import ThetaSpec
from foretell.policies.verbs import credit, observe, play, sample_values
from foretell.types import Floats, Problem
from tests.reference.ordered_theta import Block, ordered_upper, pooled

ORDERED = ThetaSpec(ordered=True)


def random_theta(signals: int, rewards: int, rng: np.random.Generator) -> Rewards:
    theta = new_rewards(signals)
    means = rng.random(signals)
    for signal in rng.integers(0, signals, rewards):
        add_reward(theta, signal, float(rng.random() < means[signal]))
    return theta


def draw(theta: Rewards, prior: ThetaPrior, seed: int, *, gaussian: bool = False) -> Floats:
    sample = np.zeros(theta.counts.size)
    sample_theta(theta, prior, gaussian, sample, np.random.default_rng(seed))
    return sample


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("values", [None, (0.1, 0.3, 0.3, 0.4, 0.9)])
def test_a_draw_is_that_of_the_slow_twin(
    *, gaussian: bool, values: tuple[float, ...] | None
) -> None:
    rng = np.random.default_rng(1)
    spec = ThetaSpec(ordered=True, signal_values=values, signal_values_weight=4)
    prior = new_theta_prior(spec, Problem(2, 5))
    pooled_ones = 0
    for seed in range(300):
        theta = random_theta(5, int(rng.integers(1, 200)), rng)
        alone = draw(theta, prior._replace(ordered=False), seed, gaussian=gaussian)
        count = theta.counts + prior.counts
        total = theta.grains / ft.types.GRAIN + prior.sums
        if gaussian:
            mean, variance = total / (count + 1), 1 / (count + 1)
        else:
            mean = (total + 1) / (count + 2)
            variance = mean * (1 - mean) / (count + 3)
        blocks = [Block(1, *one) for one in zip(alone, mean, variance, strict=True)]
        expected = pooled(blocks, OVERRULED)
        found = draw(theta, prior, seed, gaussian=gaussian)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        pooled_ones += int(not np.array_equal(alone, found))
    assert pooled_ones > 100


def test_without_a_reward_a_draw_is_one_of_sorted_uniforms() -> None:
    prior = new_theta_prior(ORDERED, Problem(2, 3))
    draws = np.array([draw(new_rewards(3), prior, seed) for seed in range(2000)])
    assert (np.diff(draws) >= 0).all()
    np.testing.assert_allclose(draws.mean(0), [0.25, 0.5, 0.75], atol=0.02)
    np.testing.assert_allclose(draws.var(0), [3 / 80, 1 / 20, 3 / 80], atol=0.005)


def test_undeclared_draws_are_independent_ones() -> None:
    rng = np.random.default_rng(3)
    prior = new_theta_prior(ThetaSpec(), Problem(2, 4))
    for seed in range(50):
        theta = random_theta(4, 30, rng)
        alone = np.zeros(4)
        sample_means(theta, False, alone, np.random.default_rng(seed))
        np.testing.assert_array_equal(draw(theta, prior, seed), alone)


def test_data_overrule_a_wrong_order() -> None:
    theta = new_rewards(3)
    for signal, mean in enumerate((0.8, 0.4, 0.2)):
        for number in range(400):
            add_reward(theta, signal, float(number < 400 * mean))
    prior = new_theta_prior(ORDERED, Problem(2, 3))
    draws = np.array([draw(theta, prior, seed) for seed in range(200)])
    np.testing.assert_allclose(draws.mean(0), [0.8, 0.4, 0.2], atol=0.02)
    bounds = new_theta_bounds(prior, theta, 0.1)
    alone = new_theta_bounds(prior._replace(ordered=False), theta, 0.1)
    np.testing.assert_array_equal(bounds.upper, alone.upper)


def test_ordered_bounds_are_those_of_the_slow_twin() -> None:
    rng = np.random.default_rng(4)
    for _ in range(500):
        own = rng.random(6)
        lower = own - rng.random(6)
        upper = np.zeros(6)
        order_upper(own, lower, upper)
        np.testing.assert_array_equal(upper, ordered_upper(own, lower))


def test_bounds_follow_every_reward() -> None:
    rng = np.random.default_rng(5)
    prior = new_theta_prior(ORDERED, Problem(2, 4))
    theta = new_rewards(4)
    bounds = new_theta_bounds(prior, theta, 0.1)
    np.testing.assert_array_equal(bounds.upper, np.ones(4))
    lowered = 0
    for signal in rng.choice(4, 300, p=[0.1, 0.1, 0.2, 0.6]):
        add_reward(theta, signal, float(rng.random() < (0.1, 0.2, 0.2, 0.3)[signal]))
        bounds_update(bounds, theta, signal, 0.1)
        fresh = new_theta_bounds(prior, theta, 0.1)
        np.testing.assert_array_equal(bounds.upper, fresh.upper)
        np.testing.assert_array_equal(bounds.upper, ordered_upper(bounds.own, bounds.lower))
        lowered += int((bounds.upper < bounds.own).any())
    assert lowered > 50


def test_declared_values_count_as_rewards() -> None:
    spec = ThetaSpec(signal_values=(0.25, 0.75), signal_values_weight=8)
    prior = new_theta_prior(spec, Problem(2, 2))
    theta = new_rewards(2)
    received = new_rewards(2)
    for signal, hits in ((0, 2), (1, 6)):
        for number in range(8):
            add_reward(received, signal, float(number < hits))
    nothing = new_theta_prior(ThetaSpec(), Problem(2, 2))
    np.testing.assert_array_equal(draw(theta, prior, 0), draw(received, nothing, 0))
    np.testing.assert_array_equal(
        new_theta_bounds(prior, theta, 0.1).upper, new_theta_bounds(nothing, received, 0.1).upper
    )


@pytest.mark.parametrize("text", ["nsd-psrl", "nsd-psrl-cp", "nsd-adaptive"])
def test_values_are_drawn_from_the_posterior_however_sharp_the_policy_is(text: str) -> None:
    """What a policy believes of p·theta has the mean and the deviation of its posterior."""
    state = start(ft.policy(text), Problem(2, 2))
    for t in range(60):
        play(state, t, t % 2)
        observe(state, t, t % 2, int(t % 2 == 0 and t % 6 > 0))
        credit(state, t, t % 2, int(t % 2 == 0 and t % 6 > 0), float(t % 2 == 0 and t % 6 > 0))
    out = np.zeros(2)
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(3000):
        sample_values(state, 60, out, rng)
        draws.append(out.copy())
    exact = rng.beta(21, 11, 20_000) * rng.beta(21, 1, 20_000)
    exact += (1 - rng.beta(21, 11, 20_000)) * rng.beta(1, 41, 20_000)
    first = np.array(draws)[:, 0]
    assert abs(first.mean() - exact.mean()) < 0.03
    assert 0.85 < first.std() / exact.std() < 1.4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nsd-kl(ordered=1)", "ordered must be True or False"),
        ("nsd-psrl(signal_values=(0.1, 'x'))", "a number or None for each signal"),
        ("nsd-psrl(ordered=True, signal_values=(0.5, 0.1))", "must not fall"),
        ("nsd-psrl(signal_values_weight=-1)", "at least 0"),
    ],
)
def test_bad_declarations_are_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        ft.policy(text)


def test_values_must_fit_the_problem() -> None:
    with pytest.raises(InvalidInput, match="one for each of the 3 signals, got 2"):
        start(ft.policy("nsd-psrl(signal_values=(0.1, 0.2))"), Problem(2, 3))
    with pytest.raises(InvalidInput, match=r"must lie in \[0, 1\]"):
        start(ft.policy("nsd-psrl(signal_values=(1.0, 2.0))"), Problem(2, 2))


def test_a_signal_may_have_no_declared_value() -> None:
    spec = ThetaSpec(signal_values=(None, 0.5, None), signal_values_weight=2)
    prior = new_theta_prior(spec, Problem(2, 3))
    np.testing.assert_array_equal(prior.counts, [0, 2, 0])
    np.testing.assert_array_equal(prior.sums, [0, 1, 0])


def test_a_declaration_is_read_back_from_its_text() -> None:
    for text in (
        "nsd-adaptive(ordered=True)",
        "nsd-ucrl2(window=800, delta=0.1, ordered=False)",
        "oracle-psrl(signal_values=(0.1, 0.2), signal_values_weight=3.0)",
    ):
        assert str(ft.policy(text)) == text


def test_declared_values_hold_before_the_first_reward_with_and_without_an_order() -> None:
    spec = ThetaSpec(signal_values=(None, 0.02, 0.6), signal_values_weight=10)
    prior = new_theta_prior(spec, Problem(2, 3))
    nothing = new_rewards(3)
    alone = np.mean([draw(nothing, prior, seed) for seed in range(2000)], axis=0)
    ordered = prior._replace(ordered=True)
    draws = np.array([draw(nothing, ordered, seed) for seed in range(2000)])
    np.testing.assert_allclose(alone[1:], [1.2 / 12, 7 / 12], atol=0.01)
    np.testing.assert_allclose(draws.mean(axis=0)[1:], alone[1:], atol=0.05)
    assert draws.mean(axis=0)[0] < 0.2, "what nobody declared is no more than what follows it"
    assert (np.diff(draws, axis=1) >= 0).mean() > 0.99
