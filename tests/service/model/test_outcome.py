"""Several records of one decision: what counts, and what it is counted as."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from foretell import protocol
from foretell.service.model.errors import NotFound, Unusable
from foretell.service.model.timestamps import parse_timestamp
from tests.service.engine_driver import GRID, START, Served

WINDOWS: dict[str, Any] = {"signal_window": 1.0, "reward_window": 2.0}


def settled(served: Served, decision_id: str) -> tuple[str | None, float | None]:
    history = served.history(decision_id)
    return history.signal, history.reward


@pytest.mark.parametrize("order", list(permutations(["none", "click", "buy"])))
def test_the_strongest_signal_within_the_window_counts(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        for signal in order:
            assert served.signal(one, signal) == "accepted"
        served.pass_time(1.0)
        assert settled(served, one)[0] == "buy"


def test_a_stronger_signal_after_the_window_does_not_replace_a_timely_one(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        served.signal(one, "click")
        served.pass_time(1.0)
        assert served.signal(one, "buy") == "late"
        assert settled(served, one)[0] == "click"


def test_a_window_closes_to_the_microsecond(tmp_path: Path) -> None:
    """Each record has a microsecond of its own; a window closes before a record of its own."""
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one, other, third = (served.decide().decision_id for _ in range(3))
        due = parse_timestamp(served.history(one).signal_due_at)
        assert due is not None
        assert due == parse_timestamp(served.history(other).signal_due_at)
        assert due % GRID == 0
        assert START + 1_000_000 <= due <= START + 1_000_000 + GRID
        served.machine.time = due - 2
        assert served.signal(one, "click") == "accepted"
        assert settled(served, one)[0] is None
        assert served.signal(other, "click") == "accepted", "in the last microsecond"
        assert settled(served, one)[0] == "click"
        assert served.signal(third, "click") == "late"
        assert settled(served, other)[0] == "click"


def test_a_reward_window_as_long_as_the_signal_window_counts_everything_once(
    tmp_path: Path,
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=1.0, reward_window=1.0)
        one = served.decide().decision_id
        served.signal(one, "buy")
        served.reward(one, 1.0)
        served.pass_time(1.0)
        row = served.report().signals[2]
        assert (row.count, row.rewards, row.theta) == (1, 1, 1.0)
        assert served.state().rewards.counts.sum() == 1


def test_rewards_with_ids_of_their_own_add_up(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        for number in range(3):
            served.reward(one, 0.1, f"r{number}")
        served.pass_time(2.0)
        assert settled(served, one)[1] == pytest.approx(0.3)


CORRECTIONS: list[dict[str, Any]] = [
    {"value": 0.9, "kind": "adjust", "target": "r", "event_id": "k1", "occurred_at": "09:00"},
    {"value": None, "kind": "retract", "target": "r", "event_id": "k2", "occurred_at": "08:00"},
    {"value": 0.4, "kind": "adjust", "target": "r", "event_id": "k3", "occurred_at": "09:00"},
]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_last_correction_by_time_and_then_by_id_wins(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        served.reward(one, 0.5, "r")
        served.reward(one, 0.1, "other")
        for index in order:
            given = dict(CORRECTIONS[index])
            given["occurred_at"] = f"2023-11-14T{given['occurred_at']}:00Z"
            assert served.reward(one, **given) == "accepted"
        served.pass_time(2.0)
        assert settled(served, one)[1] == pytest.approx(0.5), "0.4 for r, and 0.1"


def test_a_moment_is_compared_as_a_time_and_not_as_a_text(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        served.reward(one, 0.5, "r")
        sooner, later = "2023-11-14T12:00:00+05:00", "2023-11-14t11:00:00z"
        served.reward(one, 0.9, "k1", kind="adjust", target="r", occurred_at=later)
        served.reward(one, 0.1, "k2", kind="adjust", target="r", occurred_at=sooner)
        served.pass_time(2.0)
        assert settled(served, one)[1] == 0.9


def test_all_rewards_taken_back_leave_the_default(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS, default_reward=0.25)
        one = served.decide().decision_id
        served.reward(one, 0.5, "r")
        served.reward(one, None, "k", kind="retract", target="r")
        served.pass_time(2.0)
        assert settled(served, one)[1] == 0.25


def test_a_correction_before_its_reward_is_parked_until_the_reward_comes(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        assert served.reward(one, 0.75, "k", kind="adjust", target="r") == "parked"
        assert served.report().counts.parked == 1
        assert served.reward(one, 0.5, "r") == "accepted"
        assert served.report().counts.parked == 0
        served.pass_time(2.0)
        assert settled(served, one)[1] == 0.75


def test_a_correction_changes_a_reward_of_its_own_decision_alone(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one, other = (served.decide().decision_id for _ in range(2))
        served.reward(one, 0.5, "r")
        assert served.reward(other, 0.75, "k", kind="adjust", target="r") == "parked"
        served.pass_time(2.0)
        assert (settled(served, one)[1], settled(served, other)[1]) == (0.5, 0.0)


def test_a_receipt_says_why_feedback_is_parked(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one, other = (served.decide().decision_id for _ in range(2))

        def detail_of(decision: str, target: str) -> str | None:
            report = protocol.RewardReport(0.5, kind="adjust", target=target)
            return served.run(served.engine.feedback(decision, report)).detail

        assert detail_of(one, "r") == "there is no reward 'r' yet: it counts if the reward comes"
        served.reward(one, 0.5, "r", kind="reward")
        assert detail_of(one, "r") is None
        served.reward(one, 0.5, "k", kind="adjust", target="r")
        served.signal(one, "click", "s")
        for decision, target in ((other, "r"), (one, "k"), (one, "s")):
            wrong = f"{target!r} is no reward of this decision: name one as the target"
            assert detail_of(decision, target) == wrong


def test_a_correction_must_name_its_target(tmp_path: Path) -> None:
    """The id of its reward alone is not enough, as it once was: corrections have their own ids."""
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        served.reward(one, 0.5, "r")
        for kind in ("adjust", "retract"):
            with pytest.raises(Unusable, match=f"{kind} needs the target") as caught:
                served.reward(one, 0.4, "r", kind=kind)
            assert caught.value.status == 422
        assert served.reward(one, 0.4, "k", kind="adjust", target="r") == "accepted"
        assert served.reward(one, 0.4, "k", kind="adjust", target="r") == "duplicate"
        served.pass_time(2.0)
        assert settled(served, one)[1] == 0.4
        assert served.report().counts.rewards == 2


@pytest.mark.parametrize("silence", ["default", "unknown"])
def test_a_total_outside_the_range_is_stored_clipped_and_counted(
    tmp_path: Path, silence: str
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS, reward_range=(-1.0, 3.0), reward_silence=silence)
        one = served.decide().decision_id
        served.signal(one, "buy")
        served.reward(one, 2.0, "r1")
        served.reward(one, 2.5, "r2")
        served.pass_time(2.0)
        assert settled(served, one)[1] == 4.5
        report = served.report()
        assert report.counts.clipped == 1
        assert report.signals[2].theta == 3.0
        assert served.state().rewards.grains.sum() == 2**30, (
            "1, the largest, is delivered to the policy"
        )
        served.reward(one, None, "k", kind="retract", target="r2")
        report = served.report()
        assert (report.counts.clipped, report.signals[2].theta) == (0, 2.0)


def test_an_unknown_signal_is_refused_and_the_known_ones_are_named(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        for wrong in ("view", "clik"):
            with pytest.raises(Unusable, match=r"none.*click.*buy") as caught:
                served.signal(one, wrong)
            assert caught.value.status == 422
        assert served.report().counts.rejected == 2
        assert len(served.records()) == 2


@pytest.mark.parametrize(
    "body",
    [
        {"value": None},
        {"value": float("nan")},
        {"value": float("inf")},
        {"value": 1.0, "target": "r"},
        {"value": 1.0, "kind": "adjust"},
        {"value": 1.0, "kind": "adjust", "event_id": "forgotten-target"},
        {"value": None, "kind": "retract", "event_id": "forgotten-target"},
        {"value": None, "kind": "adjust", "target": "r"},
        {"value": 1e301},
        {"value": 1.0, "occurred_at": "yesterday"},
        {"value": 1.0, "occurred_at": "2026-W05-1T12:00:00Z"},
        {"value": 1.0, "occurred_at": "20260131T120000Z"},
        {"value": 1.0, "occurred_at": "2026-01-31T12:00Z"},
        {"value": 1.0, "occurred_at": "2023-11-14T11:00:00"},
    ],
)
def test_feedback_that_cannot_be_used_leaves_no_record(
    tmp_path: Path, body: dict[str, Any]
) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        with pytest.raises(Unusable):
            served.reward(one, **body)
        assert len(served.records()) == 2


@pytest.mark.parametrize("slow", [False, True])
def test_a_batch_is_taken_in_whole_however_slow_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    monkeypatch.setattr("foretell.service.engine.turns.LONG_TURN_SECONDS", -1.0 if slow else 1e9)
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        ids = [answer.decision_id for answer in served.decide_many(250)]
        found = served.batch([{"decision_id": one, "signal": "click"} for one in ids])
        assert [receipt.status for receipt in found] == ["accepted"] * 250
        assert served.report().counts.signals == 250


def test_a_forged_id_is_not_found(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served, Served(tmp_path / "b.db") as foreign:
        served.create()
        foreign.create()
        one = served.decide().decision_id
        other = foreign.decide().decision_id
        changed = ("A" if one[0] != "A" else "B") + one[1:]
        for forged in (changed, other, one[:-4], "x"):
            with pytest.raises(NotFound):
                served.signal(forged, "click")
            with pytest.raises(NotFound):
                served.history(forged)


def test_a_batch_takes_each_event_for_itself(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(**WINDOWS)
        one = served.decide().decision_id
        good = {"decision_id": one, "signal": "click", "event_id": "s"}
        found = served.batch(
            [
                good,
                {"decision_id": one, "signal": "view"},
                good,
                {"decision_id": "x" * 64, "signal": "click"},
                {"decision_id": one, "value": 1.0, "kind": "adjust", "target": "r"},
                {"nothing": 1, "event_id": "n"},
                {"decision_id": one, "value": 1.0, "event_id": "s"},
                {"decision_id": one, "value": 1.0, "signal": "click"},
                {"decision_id": one, "signal": "click", "kind": "retract", "target": "r"},
            ]
        )
        assert [receipt.status for receipt in found] == [
            "accepted", "rejected", "duplicate", "rejected", "parked",
            "rejected", "rejected", "rejected", "rejected",
        ]  # fmt: skip
        assert all(receipt.detail for receipt in found if receipt.status == "rejected")
        assert [found[index].event_id for index in (1, 5, 6)] == [None, "n", "s"]
