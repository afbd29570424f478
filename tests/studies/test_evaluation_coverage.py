"""The intervals of an evaluation cover the truth of simulated logs; the long form is the module."""

from __future__ import annotations

import pytest

import foretell as ft
from foretell.studies.evaluation_coverage import coverage

LOGS = 60
LEAST = 0.93 - 2.33 * (0.93 * 0.07 / LOGS) ** 0.5
"""What is asked of many logs, less the chance of so few: intervals that hold in just 93 % of logs
would fail one time in a hundred. It is 85.3 %, that is 52 of 60 logs."""


@pytest.mark.slow
@pytest.mark.parametrize("target", ["ucb", "nsd-ucrl2"])
def test_the_intervals_cover_the_value_along_the_replay(target: str) -> None:
    scenario = ft.Scenario(
        law=[[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]],
        theta=[0.2, 0.7],
        changes=ft.shifts(at=[150]),
        delay=40,
    )
    found = coverage(
        scenario,
        "nsd-ucrl2",
        target,
        explore=0.1,
        horizon=300,
        logs=LOGS,
        compiled=False,
        seed=7000,
    )
    names = ["doubly_robust", "self_normalised", "inverse_propensity"]
    if target == "nsd-ucrl2":
        names.append("without_signal")
    for name in names:
        assert found.covered[name] >= LEAST, name
    assert found.width["doubly_robust"] < 0.5
