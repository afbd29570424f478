"""Places for what is parked: counted from the log, and given back when nothing was written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from foretell.service.log.errors import LogClosed
from foretell.service.model import decision_cache, parking
from foretell.service.model.errors import Conflict
from tests.service.engine_driver import Served


def park(served: Served, decision: str, number: int) -> str:
    """Send a correction whose reward never comes."""
    more: dict[str, Any] = {"kind": "adjust", "target": f"never-{number}"}
    return served.reward(decision, 1.0, f"k{number}", **more)


@pytest.fixture(autouse=True)
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "PARKED_PER_DECISION", 5)
    monkeypatch.setattr(parking, "PARKED_PER_CAMPAIGN", 8)


def test_places_are_counted_from_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a decision that is not at hand, after a restart, a crash and a refit."""
    monkeypatch.setattr(decision_cache, "MAX_DECISIONS", 129)
    with Served(tmp_path / "a.db") as served:
        served.create(signal_silence="unknown", reward_silence="unknown")
        one = served.decide().decision_id
        assert [park(served, one, number) for number in range(5)] == ["parked"] * 5
        served.decide_many(150)
        number = served.engine.runtime.secrets.read(one)
        assert number is not None
        for again in (
            lambda: served.run(served.engine.settled()),
            served.restart,
            served.crash,
            lambda: served.run(served.engine.refit("c")),
        ):
            again()
            assert not served.campaign().knows(number.number), "or nothing is tried here"
            with pytest.raises(Conflict, match="5 events are parked about this decision"):
                park(served, one, 99)
            assert park(served, one, 3) == "duplicate"
            assert served.report().counts.parked == 5
        others = [served.decide().decision_id for _ in range(2)]
        found = [park(served, other, 100 + at) for at, other in enumerate([*others, others[0]])]
        assert found == ["parked"] * 3
        with pytest.raises(Conflict, match="8 events are parked in this campaign"):
            park(served, others[0], 200)


def test_a_place_is_given_back_when_nothing_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id

        async def fail(_: object) -> Any:
            raise LogClosed("the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(served.engine.runtime.log, "append", fail)
            for number in range(20):
                with pytest.raises(LogClosed):
                    park(served, one, number)
        for _ in range(3):
            assert park(served, one, 0) in {"parked", "duplicate"}
        assert [park(served, one, number) for number in range(1, 5)] == ["parked"] * 4


def test_places_about_a_lost_decision_are_counted_from_the_log(tmp_path: Path) -> None:
    """A restart forgets none of what is parked about a decision that the log does not hold."""
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.decide()
        secrets = served.engine.runtime.secrets
        token = secrets.read(served.decide().decision_id)
        assert token is not None
        lost = secrets.sign(token._replace(number=token.number - 1))
        assert [served.reward(lost, 1.0, f"r{number}") for number in range(5)] == ["parked"] * 5
        for again in (served.campaign, served.restart, served.crash):
            again()
            with pytest.raises(Conflict, match="5 events are parked about this decision"):
                served.reward(lost, 1.0, "one more")
            assert served.reward(lost, 1.0, "r3") == "duplicate"
            assert served.report().counts.parked == 5
