"""Delays are those of the first arrival, and a window misses what comes after it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from foretell import protocol
from tests.service.engine_driver import Served


def test_delays_are_those_of_the_first_arrival_for_each_decision(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=100, reward_window=1000)
        early, corrected, silent = (served.decide().decision_id for _ in range(3))
        served.pass_time(10)
        served.signal(early, "click", "1")
        served.pass_time(10)
        served.signal(early, "buy", "2")
        served.pass_time(10)
        for event_id in ("3", "4"):
            served.signal(early, "buy", event_id)
        served.reward(corrected, 1.0, "5", kind="adjust", target="never")
        served.pass_time(10)
        for value in (1.0, 2.0):
            served.reward(early, value)
        served.reward(silent, 1.0)
        delays = served.run(served.engine.delays("c"))
        assert delays.decisions == 3
        assert not any(row.decisions for row in (*delays.signals, *delays.rewards))
        assert delays.sentence == "No reward counts yet, so nothing can be said about its delay."
        served.pass_time(60)
        delays = served.run(served.engine.delays("c"))
        assert _rows(delays.signals) == [("none", 2, 0), ("click", 0, 0), ("buy", 1, 1)]
        assert _rows(delays.rewards) == [("none", 2, 1), ("click", 0, 0), ("buy", 1, 1)]
        assert delays.signals[2].median == pytest.approx(20, rel=0.19)
        assert delays.rewards[0].median == pytest.approx(40, rel=0.19)
        assert "no decision is older than 100 seconds, so a later reward" in delays.sentence
        assert "It is too early to say what your 17-minute window misses" in delays.sentence
        assert delays.oldest == pytest.approx(100, abs=1)


def test_no_delay_is_longer_than_the_oldest_decision_is_old(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=10, reward_window=100_000, reward_silence="unknown")
        decision = served.decide().decision_id
        served.pass_time(20_000)
        served.reward(decision, 1.0)
        delays = served.run(served.engine.delays("c"))
        assert delays.oldest is not None
        assert delays.all_rewards.p90 == pytest.approx(20_000, rel=0.19)
        assert max(delays.all_rewards.ages) <= delays.oldest


def _rows(delays: Sequence[protocol.Delays]) -> list[tuple[str | None, int, int]]:
    return [(row.signal, row.decisions, row.arrived) for row in delays]


def test_a_window_misses_the_share_that_comes_after_it(tmp_path: Path) -> None:
    """Of decisions at least two windows old: of young ones only the quick rewards are here."""
    with Served(tmp_path / "a.db") as served:
        served.create(signal_window=10, reward_window=3600)
        slow: list[str] = []
        quick: list[str] = []
        for n in range(40):
            (slow if n % 4 == 0 else quick).append(served.decide().decision_id)
        served.pass_time(20)
        for decision in quick:
            served.reward(decision, 1.0)
        served.pass_time(5000)
        for decision in slow:
            served.reward(decision, 1.0)
        served.pass_time(7200)
        young = [served.decide().decision_id for _ in range(40)]
        served.pass_time(20)
        for decision in young:
            served.reward(decision, 1.0)
        delays = served.run(served.engine.delays("c"))
        found = delays.all_rewards
        assert (found.arrived, found.missed, found.misses_of, found.misses) == (80, 10, 40, 0.25)
        assert found.median == pytest.approx(20, rel=0.19)
        assert found.p90 == pytest.approx(5020, rel=0.19), "young ones could not be late"
        assert delays.sentence.endswith(
            "Your 60-minute window misses 25\u00a0% of them: 10 of 40 came later, counted over "
            "decisions at least two windows old."
        )
        assert delays.signal_sentence.startswith("No signal counts yet")


def test_where_silence_is_unknown_signals_of_the_young_do_not_look_quick(tmp_path: Path) -> None:
    with Served(tmp_path / "a.db") as served:
        served.create(signal_silence="unknown", reward_silence="unknown", signal_window=100)
        old = [served.decide().decision_id for _ in range(50)]
        served.pass_time(10)
        for decision in old[:25]:
            served.signal(decision, "click")
        served.pass_time(80)
        for decision in old[25:]:
            served.signal(decision, "click")
        served.pass_time(3600)
        young = [served.decide().decision_id for _ in range(50)]
        served.pass_time(10)
        for decision in young[:25]:
            served.signal(decision, "click")
        served.pass_time(10)
        delays = served.run(served.engine.delays("c"))
        assert delays.all_signals.arrived == 75
        by_age = dict(zip(delays.all_signals.shares, delays.all_signals.ages, strict=True))
        assert by_age[0.4] < 15
        assert by_age[0.6] > 70, "half of the signals take 90 s, not a third"
