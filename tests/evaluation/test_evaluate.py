"""What was earned is known however the log explored: by the policy, or by a holdout alone."""

from __future__ import annotations

import numpy as np
import pytest

import foretell as ft
from foretell.evaluation.decision_log import DecisionLog
from foretell.evaluation.evaluate import Evaluation, EvaluationRun
from foretell.policies.registry import policy
from foretell.studies.evaluation_coverage import simulated_log
from foretell.types import Bools, Problem

SCENARIO = ft.Scenario(law=[[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]], theta=[0.2, 0.9], delay=(9, 20))


@pytest.fixture(scope="module")
def log() -> DecisionLog:
    return simulated_log(SCENARIO, "uniform", 0.2, 300, seed=1).log


def evaluated(log: DecisionLog, name: str = "uniform") -> Evaluation:
    run = EvaluationRun(policy(name), log, Problem(3, 2))
    while run.step(1000):
        pass
    return run.result()


def held_out(log: DecisionLog, which: Bools) -> DecisionLog:
    """Return the log of a policy that does not explore, in which some decisions were held out."""
    return log._replace(explore=np.zeros(log.decisions), held_out=which)


@pytest.mark.parametrize("name", ["uniform", "ucb", "nsd-ucrl2"])
def test_a_holdout_alone_is_compared_with_all_that_the_policy_earned(
    log: DecisionLog, name: str
) -> None:
    some = np.arange(log.decisions) % 5 == 0
    found, live = evaluated(held_out(log, some), name), log.settled & ~some
    assert found.counted == (log.settled & some).sum()
    assert found.earned.mean == pytest.approx(log.reward[live].mean())
    value = found.value
    assert value.gain.mean == pytest.approx(value.doubly_robust.mean - found.earned.mean)
    assert value.gain.low < value.gain.mean < value.gain.high
    assert value.gain.high - value.gain.low > value.doubly_robust.high - value.doubly_robust.low


def test_where_all_was_held_out_the_holdout_is_what_was_earned(log: DecisionLog) -> None:
    found = evaluated(held_out(log, np.ones(log.decisions, np.bool_)))
    assert found.earned.mean == pytest.approx(log.reward[log.settled].mean())
    assert found.value.gain.low < 0.0 < found.value.gain.high


def test_a_policy_that_explores_is_compared_with_what_is_counted(log: DecisionLog) -> None:
    late = np.arange(log.decisions) >= 100
    explored = log._replace(explore=np.where(late, 0.2, 0.0), held_out=late & False)
    found = evaluated(explored)
    assert found.earned.mean == pytest.approx(log.reward[log.settled & late].mean())
