"""A burst of decisions whose signals are pending is spread."""

from __future__ import annotations

from collections import Counter
from functools import singledispatch
from pathlib import Path
from typing import Any

import pytest

from tests.service.engine_driver import Served

ACTIONS = ["a", "b", "c", "d", "e"]


def burst(served: Served, decisions: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for _ in range(decisions // 500):
        found.update(answer.action for answer in served.decide_many(500))
    return found


BURSTS = [
    (log, name, expensive)
    for log in ("memory", "sqlite")
    for name in ("nsd-kl", "ucb")
    for expensive in (False, True)
]
"""What a policy draws is the same on every log: all of them are in model/test_overlay.py."""


@pytest.mark.slow
@pytest.mark.parametrize(("log_engine", "name", "expensive"), BURSTS, indirect=["log_engine"])
def test_10000_decisions_before_the_first_signal_are_spread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log_engine: str, name: str, expensive: bool
) -> None:
    monkeypatch.setattr("foretell.service.model.decider.CHEAP_SECONDS", 0.0 if expensive else 1e9)
    with Served(tmp_path / "a.db", durability="relaxed") as served:
        served.create(actions=ACTIONS, policy=name)
        found = burst(served, 10_000)
        assert min(found[action] for action in ACTIONS) > 1600
        assert max(found.values()) < 2400


def taught(served: Served, name: str) -> None:
    """Show every action 50 times: c is best, a little."""
    served.create(
        actions=ACTIONS,
        signals=["none", "click"],
        policy=name,
        signal_silence="unknown",
        reward_silence="unknown",
    )
    for each in range(50):
        reports: list[dict[str, Any]] = []
        for action in ACTIONS:
            one = served.decide(eligible=[action]).decision_id
            hit = each % 10 < (8 if action == "c" else 7)
            reports += [
                {"decision_id": one, "signal": "click" if hit else "none"},
                {"decision_id": one, "value": float(hit)},
            ]
        served.batch(reports)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nsd-ucrl2(scale=0.3)", "nsd-kl", "nsd-kl-glr(forced=0)"])
@pytest.mark.parametrize("pending", ["counted", "ignored"])
def test_pending_plays_spread_a_burst(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, pending: str
) -> None:
    """A policy that did not know of its plays would give all of a burst to one action."""
    monkeypatch.setattr("foretell.service.model.decider.CHEAP_SECONDS", 1e9)
    with Served(tmp_path / "a.db", durability="relaxed") as served:
        taught(served, name)
        if pending == "ignored":
            nothing = singledispatch(lambda *_: None)
            monkeypatch.setattr("foretell.service.model.overlay.play", nothing)
            campaign = served.engine.runtime.by_name["c"].campaign
            monkeypatch.setattr(campaign._queue, "_play", nothing)
        found = burst(served, 3000)
        assert found["c"] == max(found.values())
        spread = found["c"] < 0.9 * 3000 and min(found[action] for action in ACTIONS) > 50
        assert spread is (pending == "counted")
