"""Every baseline obeys the laws of all policies, and refuses invalid fields."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.errors import InvalidInput

BASELINES = (
    "kl-ucb",
    "kl-ucb(c=3.0)",
    "glr-kl-ucb",
    "glr-kl-ucb(local=True)",
    "glr-kl-ucb(growing=True)",
    "glr-kl-ucb(alpha=0.0, delta=0.01)",
    "d-ucb(gamma=0.99)",
    "ts",
    "sw-ts(window=50)",
    "d-ts(gamma=0.99)",
    "exp3s(changes=2)",
    "exp3s(changes=0, gamma=0.1)",
    "signal-glr-kl-ucb(delta=0.05)",
    "signal-glr-kl-ucb(delta=0.05, local=True)",
    "metabio(delta=0.1)",
    "oracle-psrl",
    "m-ucb(changes=2, width=4)",
    "cusum-ucb(changes=2, first=5, drift=0.05)",
    "bayes-ucb(c=2.0)",
)


@pytest.mark.slow
@pytest.mark.parametrize("spec", BASELINES)
def test_a_baseline_obeys_every_law(spec: str) -> None:
    ft.check_policy(spec)


@pytest.mark.parametrize("spec", BASELINES)
def test_a_baseline_lives_without_a_horizon(spec: str) -> None:
    if ft.registered_policies()[ft.policy(spec).name].lab_only:
        return
    agent = ft.Agent(spec, actions=["a", "b"], signals=["no", "yes"], seed=0, draws=5)
    for t in range(150):
        decision = agent.decide()
        agent.signal(decision, "yes" if decision.action == "b" else "no")
        agent.reward(decision, float(decision.action == "b" and t % 5 > 0))
    played = [agent.decide().action for _ in range(20)]
    assert set(played) <= {"a", "b"}


@pytest.mark.parametrize(
    "spec",
    [
        "kl-ucb(c=-1)",
        "d-ucb(gamma=0)",
        "d-ucb(gamma=0.9, xi=-1)",
        "d-ts(gamma=1.5)",
        "exp3s(changes=-1)",
        "exp3s(gamma=0)",
        "glr-kl-ucb(alpha=2)",
        "glr-kl-ucb(delta=0)",
        "metabio(delta=2)",
        "signal-glr-kl-ucb(alpha=-0.1)",
        "sw-ts(window=0)",
        "sw-kl-ucb(window=0)",
        "d-kl-ucb(gamma=0)",
        "m-ucb(changes=-1)",
        "m-ucb(width=7)",
        "cusum-ucb(first=0)",
        "cusum-ucb(drift=1.5)",
        "bayes-ucb(c=-1)",
        "ids(samples=1)",
        "qpm-d(c=-1)",
        "glr-kl-ucb(growing=1)",
    ],
)
def test_a_spec_that_cannot_be_is_refused(spec: str) -> None:
    with pytest.raises(InvalidInput):
        ft.policy(spec)
