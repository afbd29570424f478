"""A replay gives the probabilities that the policy would have had, and compiled ones the same."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.errors import InvalidInput
from foretell.evaluation.decision_log import DecisionLog
from foretell.evaluation.evaluate import EvaluationRun
from foretell.evaluation.replay import Replay, deliveries
from foretell.policies.registry import policy
from foretell.studies.evaluation_coverage import simulated_log
from foretell.types import Problem
from tests.reference.off_policy import replayed_probabilities

SCENARIO = ft.Scenario(law=[[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]], theta=[0.2, 0.9], delay=(9, 20))
PROBLEM = Problem(3, 2)


@pytest.fixture(scope="module")
def log() -> DecisionLog:
    return simulated_log(SCENARIO, "uniform", 0.2, 120, seed=1).log


@pytest.mark.parametrize("withheld", [False, True])
@pytest.mark.parametrize("name", ["ucb", "nsd-ucrl2"])
def test_the_probabilities_are_those_of_the_policy_on_what_was_known(
    log: DecisionLog, name: str, withheld: bool
) -> None:
    replay = Replay(policy(name), log, PROBLEM, withheld=withheld)
    while replay.step(7):
        pass
    slow = replayed_probabilities(name, log, 2, withheld=withheld)
    known = 70  # by then every action has had feedback, and none is held back
    assert replay.replayed.probability[known:].tolist() == pytest.approx(slow[known:])


def test_a_stream_gets_signals_in_the_order_of_decisions(log: DecisionLog) -> None:
    late = log._replace(signal_at=log.signal_at + (np.arange(log.decisions) % 5 == 0) * 30)
    due = deliveries(late, in_order=True, withheld=False)
    assert (np.diff(due.decision[~due.is_reward]) > 0).all()
    assert (np.diff(deliveries(late, in_order=False, withheld=False).at) >= 0).all()


def test_a_reward_never_comes_before_its_signal(log: DecisionLog) -> None:
    for withheld in (False, True):
        due = deliveries(log, in_order=False, withheld=withheld)
        seen: set[int] = set()
        for decision, is_reward in zip(due.decision, due.is_reward, strict=True):
            assert not is_reward or int(decision) in seen
            seen.add(int(decision))


def test_the_policy_that_decided_earns_what_was_earned(log: DecisionLog) -> None:
    run = EvaluationRun(policy("uniform"), log._replace(held_out=log.held_out & False), PROBLEM)
    while run.step(1000):
        pass
    found = run.result()
    assert found.value.inverse_propensity.mean == pytest.approx(found.earned.mean)
    assert found.value.effective_decisions == pytest.approx(found.counted)
    assert found.without_signal is None


def test_a_log_that_says_nothing_is_refused(log: DecisionLog) -> None:
    nothing = np.zeros(log.decisions)
    silent = log._replace(explore=nothing, held_out=nothing > 0.0)
    with pytest.raises(InvalidInput, match="set explore"):
        EvaluationRun(policy("ucb"), silent, PROBLEM)
    with pytest.raises(InvalidInput, match="is settled yet"):
        EvaluationRun(policy("ucb"), log._replace(settled=nothing > 0.0), PROBLEM)


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["nsd-psrl"])
def test_compiled_and_plain_replays_are_equal_to_the_byte(log: DecisionLog, name: str) -> None:
    from foretell.sim.compiled import compiled_replayer

    plain = Replay(policy(name), log, PROBLEM)
    compiled = Replay(policy(name), log, PROBLEM, replayer=compiled_replayer)
    while plain.step(50):
        compiled.step(50)
    for one, other in zip(plain.replayed, compiled.replayed, strict=True):
        assert one.tobytes() == other.tobytes()
