"""Change points are found where the law changed, and hardly ever where it did not."""

from __future__ import annotations

import numpy as np

from foretell.stats.change_points import change_points

RNG = np.random.default_rng(11)


def drawn(*laws: tuple[float, ...]) -> list[list[int]]:
    """Draw 200 signals in each of six stretches under each law."""
    return [RNG.multinomial(200, law).tolist() for law in laws for _ in range(6)]


def test_every_change_is_found_within_a_stretch() -> None:
    counts = np.array(drawn((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)))
    assert change_points(counts, actions=4) == [6, 12]


def test_a_constant_law_hardly_ever_gives_a_false_alarm() -> None:
    alarms = sum(bool(change_points(np.array(drawn((0.5, 0.3, 0.2))), 4)) for _ in range(200))
    assert alarms <= 4


def test_stretches_without_a_signal_hold_no_change_point() -> None:
    counts = np.array([[90, 10], [0, 0], [0, 0], [10, 90]])
    assert change_points(counts, actions=1) == [3]
    assert change_points(counts[:3], actions=1) == []
