"""Tables of choices: when one is kept, and how one is made between the requests."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foretell.live import chooser
from tests.live.rules.served import Served


def test_an_interruption_does_not_make_a_table_dear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a burst would go to one action, for twenty times as long as the machine was busy."""
    write = chooser.Chooser._write
    interrupted: list[bool] = []

    def interruptible(self: chooser.Chooser, *arguments: Any) -> Any:
        if not interrupted:
            interrupted.append(True)
            time.sleep(0.1)
        return write(self, *arguments)

    with Served(tmp_path / "a.db") as served:
        served.create(actions=["a", "b", "c", "d"], policy="nsd-kl")
        for action in "abcd":
            one = served.decide(eligible=[action]).decision_id
            served.signal(one, "click")
        served.pass_time(1e6)
        monkeypatch.setattr(chooser.Chooser, "_write", interruptible)
        monkeypatch.setattr(chooser, "CHEAP", 0.01)
        found = Counter(answer.action for answer in served.decide_many(200))
        states = [line.body["state"] for line in served.lines() if line.type == "decision"][-200:]
        assert interrupted
        assert max(found.values()) < 100, found
        assert len(set(states)) == 200


class Later:
    """Keeps what is to be called later, until it is told to call it."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, seconds: float, call: Callable[[], None]) -> None:
        assert seconds >= 0
        self.waiting.append(call)

    def go_on(self, times: int = 1000) -> int:
        """Call what waits, one after the other; gives how many were called."""
        for done in range(times):
            if not self.waiting:
                return done
            self.waiting.pop(0)()
        return times


@pytest.fixture
def sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Serve a policy that samples, whose tables are dear and may be renewed at any time."""
    monkeypatch.setattr(chooser, "CHEAP", 0.0)
    monkeypatch.setattr(chooser, "PART", 0.0)
    monkeypatch.setattr(chooser, "OLD", 1e9)
    with Served(tmp_path / "a.db") as served:
        served.create(actions=["a", "b", "c"], policy="nsd-psrl", signal_silence="unknown")
        learn(served, 30)
        yield served


def learn(served: Served, times: int) -> None:
    for answer in served.decide_many(times):
        served.signal(answer.decision_id, "buy" if answer.action == "a" else "click")


def test_a_table_made_draw_by_draw_is_that_of_the_state_at_its_start(sampled: Served) -> None:
    live = sampled.engine.running["c"]
    later = Later()
    slow = chooser.Chooser(5, later)
    first = slow._table(live.campaign, live.active)
    learn(sampled, 40)
    at_once = chooser.Chooser(5)._table(live.campaign, live.active)
    assert slow._table(live.campaign, live.active) is first
    assert later.go_on(10) == 10
    learn(sampled, 40)
    assert slow._table(live.campaign, live.active) is first, "it is used until the next is whole"
    later.go_on()
    renewed = slow._tables[live.active.bits]
    assert renewed.seq == at_once.seq < live.campaign.seq
    assert renewed.shares == pytest.approx(at_once.shares)
    assert renewed.shares != first.shares


def test_another_state_ends_a_renewal(sampled: Served) -> None:
    live = sampled.engine.running["c"]
    later = Later()
    slow = chooser.Chooser(5, later)
    slow._table(live.campaign, live.active)
    learn(sampled, 1)
    slow._table(live.campaign, live.active)
    assert later.waiting
    slow.forget()
    assert later.go_on() == 1
    assert not slow._tables


def test_an_old_table_is_made_at_once(sampled: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    live = sampled.engine.running["c"]
    later = Later()
    slow = chooser.Chooser(5, later)
    slow._table(live.campaign, live.active)
    learn(sampled, 1)
    monkeypatch.setattr(chooser, "OLD", 0.0)
    assert slow._table(live.campaign, live.active).seq == live.campaign.seq
    assert not later.waiting


def test_a_busy_campaign_renews_its_table_between_requests(
    sampled: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_at_once = []
    monkeypatch.setattr(chooser.Chooser, "_make", lambda *_: made_at_once.append(True))
    for _ in range(20):
        learn(sampled, 30)
    states = [line.body["state"] for line in sampled.lines() if line.type == "decision"]
    assert states == sorted(states)
    assert len(set(states)) > 3
    assert not made_at_once
