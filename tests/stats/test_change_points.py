"""Change points are found where the law changed, and hardly ever where it did not."""

from __future__ import annotations

import math

import numpy as np

from foretell.stats.change_points import find_changes

RNG = np.random.default_rng(11)


def drawn(*laws: tuple[float, ...]) -> list[list[int]]:
    """Draw 200 signals in each of six stretches under each law."""
    return [RNG.multinomial(200, law).tolist() for law in laws for _ in range(6)]


def test_every_change_is_found_within_a_stretch() -> None:
    counts = np.array(drawn((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)))
    assert [one.stretch for one in find_changes(counts, actions=4)] == [6, 12]


def test_a_constant_law_hardly_ever_gives_a_false_alarm() -> None:
    alarms = sum(bool(find_changes(np.array(drawn((0.5, 0.3, 0.2))), 4)) for _ in range(200))
    assert alarms <= 4


def test_stretches_without_a_signal_hold_no_change_point() -> None:
    counts = np.array([[90, 10], [0, 0], [0, 0], [10, 90]])
    assert [one.stretch for one in find_changes(counts, actions=1)] == [3]
    assert find_changes(counts[:3], actions=1) == []


def test_the_evidence_is_that_of_its_definition() -> None:
    """Averaged over where the change may have been, by the gamma function of the library."""
    counts = np.array(drawn((0.8, 0.1, 0.1), (0.5, 0.3, 0.2)))

    def evidence(rows: np.ndarray) -> float:
        total, size = rows.sum(axis=0), rows.shape[1]
        value = math.lgamma(size / 2) - math.lgamma(total.sum() + size / 2)
        return value + sum(math.lgamma(one + 0.5) - math.lgamma(0.5) for one in total)

    gains = [
        evidence(counts[:split]) + evidence(counts[split:]) - evidence(counts)
        for split in range(1, len(counts))
    ]
    (change,) = find_changes(counts, actions=4)
    expected = max(gains) + math.log(np.exp(np.array(gains) - max(gains)).mean())
    assert abs(change.log_evidence - expected) < 1e-8
    assert change.stretch == 1 + int(np.argmax(gains))
    assert change.earliest <= change.stretch <= change.latest


def test_the_moment_lies_between_the_earliest_and_the_latest() -> None:
    """In 95 of 100, if the law before and after is drawn as the test believes."""
    held, changes = 0, 0
    for _ in range(300):
        laws = RNG.dirichlet([0.5] * 3, 2)
        at = int(RNG.integers(1, 12))
        counts = np.array([RNG.multinomial(8, laws[int(stretch >= at)]) for stretch in range(12)])
        found = find_changes(counts, actions=1)
        if len(found) == 1:
            changes += 1
            held += found[0].earliest <= at <= found[0].latest
            assert found[0].probability(1) > 0.99
    assert changes > 150
    assert held / changes > 0.9
