"""Delays are those of the first arrival for each decision."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
        served.pass_time(60)
        delays = served.run(served.engine.delays("c"))
        assert _rows(delays.signals) == [
            ("none", 2, 0, []),
            ("click", 0, 0, []),
            ("buy", 1, 1, [20]),
        ]
        assert _rows(delays.rewards) == [
            ("none", 2, 1, [40]),
            ("click", 0, 0, []),
            ("buy", 1, 1, [40]),
        ]


def _rows(delays: Sequence[protocol.SignalDelays]) -> list[tuple[str, int, int, list[int]]]:
    """Return the first age of each signal, in whole seconds: records have their own times."""
    return [
        (row.signal, row.decisions, row.arrived, [round(age) for age in row.ages[:1]])
        for row in delays
    ]
