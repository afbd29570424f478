"""Ids make everything safe to send again; server time orders the log."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from foretell import protocol
from foretell.service.engine.fold import Fold
from foretell.service.log.protocol import Tail
from foretell.service.model.errors import Conflict, NotFound, Unusable
from tests.service.engine_driver import Served


def _go_on() -> None:
    """Do nothing in between."""


def test_an_event_counts_once_however_often_it_comes(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_silence="unknown", reward_silence="unknown")
        one = served.decide().decision_id
        assert served.signal(one, "buy", "s") == "accepted"
        assert served.reward(one, 0.5, "r") == "accepted"
        digest = served.digest()
        for again in (served.restart, served.crash, lambda: served.pass_time(1e7)):
            again()
            assert served.signal(one, "buy", "s") == "duplicate"
            assert served.reward(one, 0.5, "r") == "duplicate"
        assert served.digest() == digest
        assert served.report().counts.duplicates == 6
        assert len(served.records()) == 4


def test_a_time_written_otherwise_is_the_same_time(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        for status, moment in (
            ("accepted", "2023-11-14T11:00:00Z"),
            ("duplicate", "2023-11-14T11:00:00+00:00"),
            ("duplicate", "2023-11-14T12:00:00.000+01:00"),
        ):
            assert served.signal(one, "click", "s", occurred_at=moment) == status
            assert served.reward(one, 0.5, "r", occurred_at=moment) == status


def test_an_id_is_not_used_for_something_else(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one, other = (served.decide().decision_id for _ in range(2))
        served.reward(one, 0.5, "e", occurred_at="2023-11-14T11:00:00Z")
        for restarted in (False, True):
            if restarted:
                served.restart()
            for decision_id, value, moment in (
                (one, 0.6, "2023-11-14T11:00:00Z"),
                (other, 0.5, "2023-11-14T11:00:00Z"),
                (one, 0.5, "2023-11-14T12:00:00Z"),
                (one, 0.5, None),
            ):
                with pytest.raises(Unusable) as caught:
                    served.reward(decision_id, value, "e", occurred_at=moment)
                assert caught.value.status == 422
            with pytest.raises(Unusable):
                served.signal(one, "click", "e")
        assert served.report().counts.rejected == 10


def test_ids_stay_as_they_are_when_the_secret_changes(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        old = served.decide(decision_key="k")
        served.pass_time(1)
        assert served.run(served.engine.rotate()).secret == 1
        new = served.decide()
        for again in (_go_on, served.restart, served.crash):
            again()
            assert served.decide(decision_key="k") == old
            assert served.history(old.decision_id).round == 0
            assert served.history(new.decision_id).round == 1
            ids = [record.body.get("decision_id") for record in served.records()]
            assert ids == [None, old.decision_id, new.decision_id]
        served.engine.runtime.secrets.pop(0)
        with pytest.raises(NotFound):
            served.history(old.decision_id)
        assert served.history(new.decision_id).round == 1, "it is signed by the new one"


@pytest.mark.parametrize("cancelled", [False, True])
def test_ids_stay_as_they_are_when_the_secret_changes_in_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cancelled: bool
) -> None:
    """Decisions and changes of the secret are under way together, and the clock stands."""
    really = Fold._take

    async def later(self: Fold, tail: Tail) -> None:
        await asyncio.sleep(0.05)
        await really(self, tail)

    with Served(tmp_path / "a.db") as served:
        served.create()

        async def decide_all() -> list[str]:
            decide = served.engine.decide
            requests = [protocol.DecisionRequest(decision_key=str(n)) for n in range(40)]
            return [(await decide("c", one))[0].decision_id for one in requests]

        async def together() -> list[str]:
            engine, work = served.engine, []
            for n in range(40):
                request = protocol.DecisionRequest(decision_key=str(n))
                work.append(asyncio.create_task(engine.decide("c", request)))
                if n in (10, 30):
                    rotating = asyncio.create_task(engine.rotate())
                    for _ in range(3):
                        await asyncio.sleep(0)
                    if cancelled:
                        rotating.cancel()
                    await asyncio.gather(rotating, return_exceptions=True)
            return [(await one)[0].decision_id for one in work]

        monkeypatch.setattr(Fold, "_take", later)
        first = served.run(together())
        assert len(served.engine.runtime.secrets) >= 2
        for again in (_go_on, served.restart):
            again()
            assert served.run(decide_all()) == first


def test_a_secret_is_one_byte_of_an_id(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db", durability="relaxed") as served:
        served.create()
        for number in range(1, 256):
            assert served.run(served.engine.rotate()).secret == number
        with pytest.raises(Conflict, match="255 times"):
            served.run(served.engine.rotate())
        assert served.history(served.decide().decision_id).round == 0


def test_ids_are_those_of_a_campaign(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create("c")
        served.create("d")
        assert served.signal(served.decide("c").decision_id, "click", "e") == "accepted"
        assert served.signal(served.decide("d").decision_id, "buy", "e") == "accepted"


def test_the_same_event_many_times_at_once_counts_once(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id

        async def at_once() -> list[protocol.Receipt]:
            report = protocol.SignalReport("click", "s")
            return await asyncio.gather(*(served.engine.feedback(one, report) for _ in range(50)))

        found = sorted(receipt.status for receipt in served.run(at_once()))
        assert found == ["accepted"] + ["duplicate"] * 49


def test_a_decision_key_is_safe_to_retry(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(policy="uniform")
        ask = protocol.DecisionRequest(
            unit="u", eligible=["a", "b"], decision_key="k", context={"x": 1, "y": 2}
        )
        first, made = served.run(served.engine.decide("c", ask))
        assert made
        same = msgspec.structs.replace(ask, context={"y": 2, "x": 1})
        for again in (_go_on, served.restart, served.crash):
            again()
            assert served.run(served.engine.decide("c", same)) == (first, False)
        for field, value in (("unit", "v"), ("eligible", ["a"]), ("context", {})):
            other = msgspec.structs.replace(ask, **{field: value})
            with pytest.raises(Unusable) as caught:
                served.run(served.engine.decide("c", other))
            assert caught.value.status == 422
        assert served.report().counts.decisions == 1


def test_a_decision_key_works_while_a_campaign_is_paused(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        first = served.decide(decision_key="k")
        served.run(served.engine.set_status("c", "paused"))
        assert served.decide(decision_key="k") == first


def test_one_decision_for_many_asks_with_one_key_at_once(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(policy="uniform")
        assert len({one.decision_id for one in served.decide_many(50, decision_key="k")}) == 1


def test_a_clock_that_goes_back_does_not_stop_time(tmp_path: Path) -> None:
    """Log time goes on with the boot clock; once it stood still until the wall clock was back."""
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=1.0)
        one = served.decide().decision_id
        served.pass_time(0.5)
        served.signal(one, "click")
        for again in (_go_on, served.restart, served.crash):
            served.set_wall_clock(-1000.0)
            again()
            served.decide()
        at = [record.recorded_at for record in served.records()]
        assert at == sorted(at)
        assert served.history(one).signal is None
        served.pass_time(0.5)
        assert served.history(one).signal == "click"
        assert served.digest() == served.rebuilt().digest()


def test_one_wrong_reading_of_the_clock_closes_no_window(tmp_path: Path) -> None:
    """A step ahead is followed only when it has held for a minute."""
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=100.0)
        one = served.decide().decision_id
        served.set_wall_clock(3600.0)
        assert served.history(one).signal is None
        assert served.signal(one, "click") == "accepted"
        assert served.engine.gauges()["clock_ahead_seconds"] == pytest.approx(3600.0, abs=1.0)
        served.pass_time(59.0)
        assert served.history(one).signal is None
        served.pass_time(2.0)
        assert served.history(one).signal == "click"
        assert served.engine.gauges()["clock_ahead_seconds"] == 0.0
        assert served.digest() == served.rebuilt().digest()


def test_a_clock_set_back_over_a_restart_opens_no_closed_window(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=1.0, policy="nsd-adaptive")
        one = served.decide().decision_id
        served.pass_time(2.0)
        assert served.history(one).signal == "none"
        served.restart()
        served.set_wall_clock(-1000.0)
        served.restart()
        assert served.history(one).signal == "none"
        assert served.signal(one, "click") == "late"
        assert served.digest() == served.rebuilt().digest()


def test_the_moment_of_the_client_is_kept_and_shown_in_utc(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        sent = ["2023-01-01T00:00:00+14:00", "1999-12-31T23:59:59.5Z"]
        served.signal(one, "click", occurred_at=sent[0])
        served.reward(one, 1.0, occurred_at=sent[1])
        shown = ["2022-12-31T10:00:00.000000Z", "1999-12-31T23:59:59.500000Z"]
        assert [record.body.get("occurred_at") for record in served.records()[2:]] == shown
        assert [event.occurred_at for event in served.history(one).events[1:]] == shown
        at = [record.recorded_at for record in served.records()]
        assert all(moment.startswith("2023-11-14") for moment in at), "the server's time orders"
