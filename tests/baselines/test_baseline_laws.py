"""Every baseline obeys the laws of all policies, and says what it needs."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.policies import policy_table

BASELINES = (
    "kl-ucb",
    "kl-ucb(c=3.0)",
    "glr-kl-ucb",
    "glr-kl-ucb(local=True)",
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
    ],
)
def test_a_spec_that_cannot_be_is_refused(spec: str) -> None:
    with pytest.raises(InvalidInput):
        ft.policy(spec)


def test_every_policy_of_ours_says_its_cost_and_its_use() -> None:
    for row in policy_table(shipped=True):
        assert row.cost.startswith("O("), row.name
        assert row.use != "not stated", row.name


def test_what_is_told_to_an_oracle_is_named_among_its_needs() -> None:
    for one in ft.registered_policies().values():
        if one.spec.__module__.startswith("foretell.") and one.lab_only:
            assert "change points" in one.needs
            assert ("undelayed rewards" in one.needs) == one.undelayed


@pytest.mark.usefixtures("own_registry")
def test_registering_without_the_new_words_still_works() -> None:
    class Plain(ft.Uniform):
        """Nothing is said about it."""

    ft.register("plain-baseline")(Plain)
    row = next(row for row in policy_table() if row.name == "plain-baseline")
    assert (row.needs, row.cost) == ("nothing", "not stated")
    assert "plain-baseline" not in [row.name for row in policy_table(shipped=True)]


def test_a_newcomer_to_metabio_has_the_mean_of_the_weights() -> None:
    """With no loss at all it would be played for as long as the others have been."""
    agent = ft.Agent("metabio", actions=["a", "b", "c"], signals=["no", "yes"], seed=0)
    chosen: list[str] = []
    for t in range(3000):
        if t == 2000:
            agent.add_action("bad")
        decision = agent.decide()
        good = decision.action == "a" and t % 10 > 0
        agent.signal(decision, "yes" if good else "no")
        agent.reward(decision, float(good))
        chosen.append(decision.action)
    assert chosen[2000:].count("bad") < 150
