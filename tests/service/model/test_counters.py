"""What a report counts, over stretches of time that grow with the campaign."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.service.model.counters import Counters
from foretell.service.model.outcome import Outcome
from tests.service.engine_driver import Served

SECOND = 1_000_000


@pytest.mark.parametrize("gap", [1, SECOND, 977 * SECOND, 86_400 * SECOND])
def test_no_decision_is_lost_when_stretches_are_joined(gap: int) -> None:
    counters = Counters(2, 2)
    nothing: Outcome = (None, None)
    for number in range(2000):
        counters.decide(number * gap, number % 2)
        counters.move(number * gap, number % 2, nothing, (1, 1.0), (0.0, 1.0))
    assert counters.counts[0] == counters.decided.sum() == counters.signalled.sum() == 2000
    assert counters.decided.sum(axis=0).tolist() == [1000, 1000]
    assert counters.rewarded[:, 0].sum() == 2000


def test_the_actions_of_a_report_add_up_to_its_decisions(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        for _ in range(300):
            served.decide()
            served.pass_time(100)
        report = served.report()
        assert sum(row.decisions for row in report.actions) == report.counts.decisions == 300
        assert sum(row.share for row in report.actions) == pytest.approx(1.0)
