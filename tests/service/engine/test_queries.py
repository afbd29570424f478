"""What a page is made of: the newest decisions, and reports of one moment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.engine_driver import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.create("other")
        yield served


@pytest.mark.parametrize("decisions", [0, 3, 8, 9, 1400])
def test_the_newest_decisions_are_shown_first(served: Served, decisions: int) -> None:
    """Also those of a burst, after a restart, among feedback and decisions of others."""
    made = [one.decision_id for one in served.decide_many(decisions)]
    served.decide_many(5, "other")
    for one in made[-3:]:
        served.signal(one, "click")
    served.run(served.engine.settled())
    for _ in range(2):
        found = served.run(served.engine.latest_decisions("c", 8))
        assert [one.body["decision_id"] for one in found] == made[:-9:-1]
        assert {one.type for one in found} <= {"decision"}
        served.restart()


def test_all_reports_are_of_one_moment(served: Served) -> None:
    served.decide_many(50)
    served.run(served.engine.settled())
    found = served.run(served.engine.all_reports("c", 40))
    others = [one for name, one in vars(found).items() if name not in {"report", "made"}]
    assert len(others) == 5
    assert {one.as_of for one in others} == {found.report.log.as_of}
    assert found.report == served.report()
    assert found.delays == served.run(served.engine.delays("c"))
    assert sum(found.series.total.decisions) == found.report.counts.decisions == 50
