"""Claims: three verdicts, and no more runs than it takes to reach one."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pytest

from foretell.sim import Batches
from foretell.stats.estimate import Estimate
from foretell.studies.claim import LEVEL, MOST_LOOKS, Claim, Finding, Results, decide
from foretell.studies.limits import all_above, all_below, all_of
from tests.studies.test_batch_statistics import batch_of

FEW = 20


def results_of(gain: float, runs: int) -> Results:
    """Return runs of two policies that differ by `gain` on average, with a deviation of 1."""
    noise = np.random.default_rng(5).normal(0.0, 1.0, (10_000, 1))[:runs]
    panel = Batches(
        {"one": batch_of(10.0 + noise), "other": batch_of(np.full((runs, 1), 10.0 + gain))}
    )
    return {"a panel": panel, "another": panel}


class Laboratory:
    """Runs panels again with more runs, and remembers what it was asked for."""

    def __init__(self, gain: float) -> None:
        self.gain = gain
        self.asked: list[tuple[list[str], int]] = []

    def more_runs(self, panels: Collection[str], times: int) -> Results:
        self.asked.append((list(panels), times))
        return results_of(self.gain, FEW * times)


def lower(swapped: bool) -> Claim:
    """Claim that one policy has less regret than the other, or `swapped` what is not so."""

    def check(pair: tuple[str, str, Results]) -> Finding:
        one, other, results = pair
        panel = results["a panel"]
        gap = Estimate.of(panel[one].final - panel[other].final, LEVEL)
        return Finding(all_below([(gap, 0.0)]), str(gap))

    sides = ("other", "one") if swapped else ("one", "other")
    return Claim(
        "lower", "One is lower.", "here", "", check,
        lambda r: (*sides, r), lambda r: ("other", "one", r),
    )  # fmt: skip


@pytest.mark.parametrize(("swapped", "word"), [(False, "supported"), (True, "not supported")])
def test_what_is_plain_is_decided_at_the_first_look(swapped: bool, word: str) -> None:
    laboratory = Laboratory(2.0)
    verdict = decide(lower(swapped), results_of(2.0, FEW), laboratory.more_runs)
    assert (verdict.word, verdict.looks, verdict.runs) == (word, 1, FEW)
    assert laboratory.asked == []


def test_a_small_difference_takes_more_runs_of_the_panels_that_it_is_about() -> None:
    laboratory = Laboratory(0.35)
    verdict = decide(lower(swapped=False), results_of(0.35, FEW), laboratory.more_runs)
    assert verdict.word == "supported"
    assert 1 < verdict.looks < MOST_LOOKS
    assert verdict.runs == FEW * 2 ** (verdict.looks - 1)
    assert laboratory.asked == [(["a panel"], 2**look) for look in range(1, verdict.looks)]


def test_no_difference_stays_undecided_after_five_looks() -> None:
    laboratory = Laboratory(0.0)
    verdict = decide(lower(swapped=False), results_of(0.0, FEW), laboratory.more_runs)
    assert (verdict.word, verdict.looks) == ("undecided", MOST_LOOKS)
    assert [times for _, times in laboratory.asked] == [2, 4, 8, 16]


def test_a_check_that_lets_its_control_pass_decides_nothing() -> None:
    always = Claim(
        "always", "", "", "", lambda _: Finding(True, ""), lambda r: r["a panel"], lambda r: r
    )
    laboratory = Laboratory(0.0)
    assert decide(always, results_of(0.0, FEW), laboratory.more_runs).word == "undecided"
    assert laboratory.asked == []


def test_arithmetic_needs_no_runs() -> None:
    claim = Claim(
        "sum", "", "", "", lambda sums: Finding(sums, ""), lambda _: True, lambda _: False
    )
    verdict = decide(claim, {}, Laboratory(0.0).more_runs)
    assert (verdict.word, verdict.runs) == ("supported", 0)


def test_an_interval_that_straddles_its_limit_leaves_it_open() -> None:
    straddles, below = Estimate(0.0, -1.0, 1.0), Estimate(-2.0, -3.0, -1.0)
    assert all_below([(straddles, 0.0)]) is None
    assert all_below([(below, 0.0), (straddles, 0.0)]) is None
    assert all_below([(below, 0.0)]) is True
    assert all_above([(below, 0.0), (straddles, 0.0)]) is False
    assert all_of([True, None]) is None
    assert all_of([False, None]) is False


def test_the_error_level_is_split_over_the_looks() -> None:
    """Where nothing differs, five looks find a difference in no more than 1 of 20 cases."""
    wrong = 0
    rng = np.random.default_rng(0)
    cases = 2000
    for _ in range(cases):
        noise = rng.normal(0.0, 1.0, 30 * 2 ** (MOST_LOOKS - 1))
        ends = [Estimate.of(noise[: 30 * 2**look], LEVEL) for look in range(MOST_LOOKS)]
        wrong += any(end.high < 0.0 or end.low > 0.0 for end in ends)
    assert 0.01 <= wrong / cases <= 0.05
