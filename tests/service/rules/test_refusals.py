"""What would spoil a campaign in silence is refused in a sentence, and what is clipped is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foretell import protocol
from foretell.service.model.errors import Conflict, RequestProblem, Unusable
from tests.service.engine_driver import Served

SECOND = 1_000_000


def receipt(served: Served, decision: str, value: float, **more: Any) -> protocol.Receipt:
    return served.run(served.engine.feedback(decision, protocol.RewardReport(value, **more)))


@pytest.mark.parametrize("value", [10.0, 1e9, -9.0, -1e90])
def test_a_reward_ten_times_outside_its_range_is_refused(tmp_path: Path, value: float) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        with pytest.raises(Unusable, match=r"10 times outside the reward_range \[0.0, 1.0\]"):
            served.reward(one, value)
        (rejected,) = served.batch([{"decision_id": one, "value": value, "event_id": "e"}])
        assert (rejected.status, rejected.event_id) == ("rejected", "e")
        assert served.reward(one, 1.0, "r") == "accepted"
        with pytest.raises(Unusable, match="times outside"):
            served.reward(one, value, kind="adjust", target="r")
        assert served.reward(one, value, kind="retract", target="r") == "accepted"
        served.patch(reward_range=(-1e90, 1e91))
        assert served.reward(one, value) == "accepted"


@pytest.mark.parametrize("reward_range", [(0.0, 1.7e308), (-1e200, 1.0)])
def test_a_range_whose_sums_would_have_no_number_is_refused(
    tmp_path: Path, reward_range: tuple[float, float]
) -> None:
    with Served(tmp_path / "a.db") as served:
        with pytest.raises(Unusable, match="reward_range must lie within -1e\\+100 and 1e\\+100"):
            served.create(reward_range=reward_range)
        served.create(reward_range=(0.0, 1e100), signal_silence="unknown", reward_silence="unknown")
        one = served.decide().decision_id
        served.signal(one, "click")
        for number in range(3):
            served.reward(one, 9e100, f"r{number}")
        assert served.history(one).reward == pytest.approx(2.7e101)
        assert served.digest() == served.rebuilt().digest()


def test_a_reward_that_is_clipped_is_said_in_its_receipt(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one, two, three = (served.decide().decision_id for _ in range(3))
        assert not receipt(served, one, 1.0, event_id="whole").clipped
        said = receipt(served, two, 3.0, event_id="much")
        assert (said.status, said.clipped) == ("accepted", True)
        assert said.detail is not None
        assert "is 3, outside the reward_range [0, 1]: it is stored, and counts as 1" in said.detail
        for _ in range(2):
            served.run(served.engine.settled())
            again = receipt(served, one, 0.5, event_id="half")
        assert again.status == "duplicate"
        served.run(served.engine.settled())
        assert receipt(served, one, 0.25).clipped, "the sum of three rewards"
        served.run(served.engine.settled())
        less = receipt(served, two, 0.5, kind="adjust", target="much", event_id="less")
        assert not less.clipped, "corrected into the range"
        served.run(served.engine.settled())
        assert not receipt(served, two, 9.0, kind="retract", target="much").clipped
        served.void(three)
        served.run(served.engine.settled())
        assert not receipt(served, three, 5.0).clipped, "it has no reward any more"
        (batched,) = served.batch([{"decision_id": one, "value": 2.0}])
        assert batched.clipped


def test_what_happens_in_the_future_is_refused(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        assert served.engine.runtime.latest() // SECOND == served.machine.time // SECOND
        soon, later = "2023-11-14T22:18:19Z", "2023-11-14T22:18:40Z"
        assert served.signal(one, "click", occurred_at=soon) == "accepted"
        said = f"must not be in the future, got '{later}' at 2023"
        with pytest.raises(Unusable, match=said):
            served.signal(one, "click", occurred_at=later)
        with pytest.raises(Unusable, match=said):
            served.reward(one, 1.0, occurred_at=later)
        served.set_wall_clock(3600.0)
        assert served.reward(one, 1.0, occurred_at=later) == "accepted", "the wall clock is ahead"
        served.set_wall_clock(-7200.0)
        served.pass_time(3600.0)
        assert served.reward(one, 1.0, occurred_at=later) == "accepted", "log time is ahead"


def test_the_last_action_is_not_retired(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        served.set_action("a", "paused")
        served.set_action("b", "retired")
        with pytest.raises(Conflict, match="'a' is the last one that is not retired: add another"):
            served.set_action("a", "retired")
        served.set_action("a", "active")
        assert served.decide().action == "a"


CHANGES: list[Callable[[Served], Any]] = [
    lambda served: served.patch(explore=0.5),
    lambda served: served.patch(reward_window=7200.0),
    lambda served: served.add_action("c"),
    lambda served: served.set_action("a", "paused"),
    lambda served: served.run(served.engine.refit("c")),
    lambda served: served.run(served.engine.set_status("c", "running")),
    lambda served: served.run(served.engine.set_status("c", "paused")),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_stopped_campaign_is_not_changed(tmp_path: Path, change: Callable[[Served], Any]) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        view = served.run(served.engine.set_status("c", "stopped"))
        with pytest.raises(Conflict, match="the campaign 'c' is stopped, for good"):
            change(served)
        assert served.run(served.engine.set_status("c", "stopped")) == view
        assert served.reward(one, 1.0) == "accepted", "feedback is taken"
        with pytest.raises(Conflict, match="is stopped, for good: make another to decide"):
            served.decide()


@pytest.mark.parametrize(("status", "words"), [("draft", "a draft"), ("paused", "paused")])
def test_a_campaign_that_can_be_started_says_so(tmp_path: Path, status: str, words: str) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(status="draft")
        if status == "paused":
            served.run(served.engine.set_status("c", "paused"))
        with pytest.raises(Conflict, match=f"the campaign 'c' is {words}: start it to decide"):
            served.decide()


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            {"kind": "void", "signal": "click"},
            "a signal has no kind and no target, got kind 'void': leave it out, or send two",
        ),
        (
            {"kind": "adjust", "signal": "click", "target": "r"},
            "got kind 'adjust' and target 'r': leave them out, or send two events",
        ),
        ({"target": "r", "signal": "click"}, "got target 'r': leave it out"),
        (
            {},
            "send the signal (one of 'none', 'click', 'buy'), the value of a reward, or the kind",
        ),
    ],
)
def test_an_event_of_a_batch_says_one_thing(
    tmp_path: Path, event: dict[str, Any], said: str
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        (rejected,) = served.batch([{"decision_id": served.decide().decision_id, **event}])
        assert rejected.status == "rejected"
        assert said in (rejected.detail or "")


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served, pytest.raises(Unusable) as caught:
        served.create(
            actions=["a", "a"], policy="nsd", explore=0.7, holdout=0.7, reward_window=1.0,
            default_reward=4.0,
        )  # fmt: skip
    fields = [one.field for one in caught.value.errors]
    assert fields == ["actions", "policy", "default_reward", "reward_window", "explore"]
    assert all(one.detail in str(caught.value) for one in caught.value.errors)


def test_a_change_and_an_event_are_told_all_that_is_wrong_too(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        with pytest.raises(Unusable) as caught:
            served.patch(signals=["buy"], policy="best", explore=0.9, holdout=0.2)
        assert [one.field for one in caught.value.errors] == ["signals", "policy", "explore"]
        with pytest.raises(Unusable) as caught:
            served.signal(one, "clik", occurred_at="tomorrow")
        assert [one.field for one in caught.value.errors] == ["signal", "occurred_at"]
        assert str(caught.value).startswith("2 things are wrong: there is no signal 'clik'")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s, d: s.signal(d, "clik"), "no signal 'clik': did you mean 'click'"),
        (lambda s, d: s.decide(eligible=["bb"]), "no action 'bb'"),
        (lambda s, d: s.patch(policy="nsd-kll"), "did you mean 'nsd-kl'"),
        (lambda s, d: s.set_action("aa", "paused"), "no action 'aa'"),
    ],
)
def test_near_misses_are_suggested(
    tmp_path: Path, call: Callable[[Served, str], Any], said: str
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create()
        one = served.decide().decision_id
        with pytest.raises(RequestProblem, match=said):
            call(served, one)
