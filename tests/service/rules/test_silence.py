"""Silence is not an outcome until its window closes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from foretell.policies.registry import policy, start
from foretell.policies.state import fingerprint
from foretell.policies.verbs import credit, observe, play
from foretell.service.model.campaign import Campaign
from foretell.service.model.errors import Unusable
from foretell.service.model.outcome import Closed, Outcome
from foretell.service.model.running import Running
from foretell.types import Problem
from tests.service.engine_driver import Served
from tests.service.rules.early_feedback import (
    CLICK,
    CONVERSION,
    REWARD_WINDOW,
    SIGNAL_WINDOW,
    Early,
    deviation,
)

SEEDS = range(20)
FAR = 4.5
"""Standard deviations that no estimate is off at any of the thousands of looks."""


def found(state: Any) -> int:
    """Count the changes that a policy has found."""
    if hasattr(state, "alarms"):
        return int(state.alarms.sum())
    return int(state.base.runs.tally[0])


def worst(early: Early) -> float:
    """Return by how much the law or theta is ever off, in standard deviations."""
    off = 0.0
    for _ in early.ticks():
        counters = early.served.campaign().counters
        seen, paid = np.asarray(counters.seen), np.asarray(counters.paid)
        grains = np.asarray(counters.grains) / 2**30
        for action, share in enumerate(CLICK):
            off = max(off, deviation(seen[action, 1], seen[action].sum(), share))
        for signal, share in enumerate(CONVERSION):
            off = max(off, deviation(grains[:, signal].sum(), paid[:, signal].sum(), share))
    return off


@pytest.mark.statistics
@pytest.mark.slow
@pytest.mark.parametrize("name", ["nsd-kl-glr", "nsd-adaptive"])
def test_early_clicks_and_conversions_neither_bias_nor_alarm(
    tmp_path: Path, name: str, log_engine: str
) -> None:
    """The same policy on the same campaigns alarms each time if signals are delivered on arrival.

    That nothing is added to what the policy makes of the truth is exact. That it makes no alarm
    of it is chance: over other seeds nsd-kl-glr had none in 100, nsd-adaptive 3 in 120.
    """
    alarmed = []
    for seed in SEEDS if log_engine == "memory" else SEEDS[:5]:
        with Served(tmp_path / f"{seed}.db") as served:
            early = Early(served, name, seed)
            for number, now in enumerate(early.ticks()):
                _is_the_truth_of_what_has_closed(early, now)
                if number % 10 == 9:
                    assert served.run(served.engine.changes("c")).changes == []
            assert served.fingerprint() == fingerprint(_state_in_order(name, early, now))
            if found(served.state()):
                alarmed.append(seed)
            assert found(_state_on_arrival(name, early)) > 0, f"seed {seed} has no power"
    assert len(alarmed) <= (name == "nsd-adaptive"), alarmed


def _is_the_truth_of_what_has_closed(early: Early, now: int) -> None:
    """Reports hold exactly the decisions whose windows have closed, and the truth about them."""
    report = early.served.report()
    closed = [one for one in early.visits if one.signal_closed(now)]
    for signal, row in enumerate(report.signals):
        assert row.count == sum(one.click == signal for one in closed)
        paid = [one for one in closed if one.click == signal and one.reward_closed(now)]
        assert row.rewards == len(paid)
        if paid:
            assert row.theta == pytest.approx(np.mean([one.conversion for one in paid]))
    for action, rates in enumerate(early.served.run(early.served.engine.signals("c")).actions):
        mine = [one for one in closed if one.action == action]
        assert rates.count == len(mine)
        if mine:
            assert rates.rates["click"] == pytest.approx(np.mean([one.click for one in mine]))


@pytest.mark.statistics
@pytest.mark.slow
def test_law_and_theta_are_unbiased_at_every_moment(tmp_path: Path) -> None:
    for seed in SEEDS[:8]:
        with Served(tmp_path / f"{seed}.db") as served:
            assert worst(Early(served, "uniform", seed)) < FAR, f"seed {seed}"


def test_counting_clicks_when_they_come_would_overstate_the_law(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = Running.outcome

    def at_once(running: Running, closed: Closed) -> Outcome:
        came = running.signals[0].counted is not None
        return outcome(running, (closed[0] or came, closed[1]))

    monkeypatch.setattr(Running, "outcome", at_once)
    monkeypatch.setattr(Campaign, "_counts_nothing", lambda *_: False)
    with Served(tmp_path / "a.db") as served:
        assert worst(Early(served, "uniform", 0)) > FAR


def test_counting_conversions_when_they_come_would_overstate_theta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = Running.outcome

    def at_once(running: Running, closed: Closed) -> Outcome:
        came = running.reward.total is not None
        return outcome(running, (closed[0], closed[1] or came))

    monkeypatch.setattr(Running, "outcome", at_once)
    with Served(tmp_path / "a.db") as served:
        assert worst(Early(served, "uniform", 0)) > FAR


def _state_in_order(name: str, early: Early, now: int) -> Any:
    """Let a policy hear the truth about every decision when its windows close."""
    state = start(policy(f"{name}(ordered=True)"), Problem(2, 2))
    happens: list[tuple[int, int, int]] = []
    for t, one in enumerate(early.visits):
        closes = (
            one.decided_at + round(SIGNAL_WINDOW * 1e6),
            one.decided_at + round(REWARD_WINDOW * 1e6),
        )
        happens += [(closes[0], 0, t), (closes[1], 1, t), (one.decided_at, 2, t)]
    for at, what, t in sorted(happens):
        one = early.visits[t]
        if at > now:
            break
        if what == 0:
            observe(state, t, one.action, int(one.click))
        elif what == 1:
            credit(state, t, one.action, int(one.click), float(one.conversion))
        else:
            play(state, t, one.action)
    return state


def _state_on_arrival(name: str, early: Early) -> Any:
    """Let a policy hear of clicks when they come, and of silence when its window closes."""
    state = start(policy(f"{name}(ordered=True)"), Problem(2, 2))
    happens: list[tuple[float, int, int]] = []
    for t, one in enumerate(early.visits):
        happens.append((one.decided_at, t, -1))
        heard = one.clicked_at if one.click else one.decided_at + 8_000_000
        happens.append((heard + 0.5, t, int(one.click)))
    for _, t, signal in sorted(happens):
        action = early.visits[t].action
        if signal < 0:
            play(state, t, action)
        else:
            observe(state, t, action, signal)
    return state


@pytest.mark.parametrize("silence", ["default", "unknown"])
def test_silence_becomes_an_outcome_or_stays_unknown(tmp_path: Path, silence: str) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(
            signals=["none", "click"],
            signal_window=1.0,
            reward_window=2.0,
            default_reward=0.25,
            signal_silence=silence,
            reward_silence=silence,
        )
        silent, clicked = (served.decide().decision_id for _ in range(2))
        served.signal(clicked, "click")
        served.reward(clicked, 1.0)
        early = served.history(clicked)
        assert (early.signal, early.reward) == (
            (None, None) if silence == "default" else ("click", 1.0)
        )
        served.pass_time(1.0)
        assert served.history(silent).signal == ("none" if silence == "default" else None)
        assert served.history(clicked).signal == "click"
        assert served.history(clicked).reward == (None if silence == "default" else 1.0)
        served.pass_time(1.0)
        assert served.history(silent).reward == (0.25 if silence == "default" else None)
        assert served.history(clicked).reward == 1.0


def test_one_silence_may_be_an_outcome_and_the_other_unknown(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=1.0, reward_window=2.0, reward_silence="unknown")
        one = served.decide().decision_id
        served.reward(one, 0.5)
        assert served.history(one).reward is None, "a reward waits for its signal"
        served.pass_time(1.0)
        assert (served.history(one).signal, served.history(one).reward) == ("none", 0.5)
        served.create("d", signal_window=1.0, reward_window=2.0, signal_silence="unknown")
        two = served.decide("d").decision_id
        served.reward(two, 0.5)
        served.pass_time(9.0)
        assert (served.history(two).signal, served.history(two).reward) == (None, None)
        served.signal(two, "buy")
        assert (served.history(two).signal, served.history(two).reward) == ("buy", 0.5)


def test_silence_cannot_become_a_signal_that_means_something(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_silence="unknown")
        with pytest.raises(Unusable, match="'none' is the first"):
            served.patch(signal_silence="default")
