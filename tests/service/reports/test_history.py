"""Records of the log name their decision by its id, and give no secret away."""

from __future__ import annotations

from pathlib import Path

from tests.service.engine_driver import Served


def test_every_record_about_a_decision_has_its_id(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one, other = (served.decide().decision_id for _ in range(2))
        served.signal(other, "click")
        served.reward(one, 1.0)
        records = served.records()
        assert [record.body.get("decision_id") for record in records] == [
            None,
            one,
            other,
            other,
            one,
        ]
        served.restart()
        assert served.records() == records

        async def exported() -> list[object]:
            return [record async for record in served.engine.export("c")]

        assert served.run(exported()) == records


def test_feedback_on_a_decision_that_a_restore_took_away_has_no_id(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        copy = str(tmp_path / "copy.db")
        served.run(served.engine.backup(copy))
        lost = served.decide().decision_id
        served.run(served.engine.restore(copy))
        assert served.reward(lost, 1.0) == "parked"
        assert "decision_id" not in served.records()[-1].body
        served.pass_time(1)
        another = served.decide().decision_id
        assert [record.body.get("decision_id") for record in served.records()[-2:]] == [
            None,
            another,
        ]


def test_the_log_does_not_tell_what_will_be_chosen(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.patch(explore=0.1)
        served.patch(policy="uniform")
        configs = [record.body["config"] for record in served.records()]
        assert len(configs) == 3
        assert not any("seed" in config for config in configs)
