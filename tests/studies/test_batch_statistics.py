"""Statistics of batches, with intervals over runs."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.errors import InvalidInput
from foretell.policies import Uniform
from foretell.sim import Batch
from foretell.studies.batch_statistics import (
    late_slope,
    line_fit,
    mean_ratio,
    regret_after,
    slope,
    spread_ratio,
)
from foretell.types import Floats
from foretell.worlds import scenario

RNG = np.random.default_rng(5)


def batch_of(regret: Floats, rounds: Floats | None = None) -> Batch:
    """Return a batch with these regret curves, written after every round."""
    written = np.arange(regret.shape[1]) if rounds is None else rounds.astype(np.int64)
    return Batch(
        spec=Uniform(),
        scenario=scenario("paper-stationary"),
        horizon=int(written[-1]) + 1,
        seed=0,
        rounds=written,
        regret=regret,
        actions=np.zeros((len(regret), 4), np.int64),
        provenance={},
    )


def test_a_line_fit_is_the_mean_of_least_squares_slopes() -> None:
    x = np.array([0.0, 1.0, 3.0, 7.0])
    samples = RNG.normal(size=(12, 4)) + 2.5 * x
    slopes = np.array([np.polyfit(x, row, 1)[0] for row in samples])
    assert line_fit(x, samples).mean == pytest.approx(slopes.mean())


def test_slopes_of_a_straight_line_are_its_slope_everywhere() -> None:
    curve = batch_of(np.arange(1, 101)[None, :] * np.array([[0.5], [0.25]]))
    assert slope(curve, 10, 60) == pytest.approx([0.5, 0.25])
    assert late_slope(curve, (0, 40, 100)) == pytest.approx([0.5, 0.25])
    assert regret_after(curve, 0) == pytest.approx([0.0, 0.0])


def test_a_round_that_was_not_written_is_refused() -> None:
    curve = batch_of(np.ones((2, 2)), np.array([9.0, 19.0]))
    with pytest.raises(InvalidInput, match="after 15 rounds was not written"):
        regret_after(curve, 15)


def test_ratios_cover_the_truth_and_notice_a_difference() -> None:
    wide = batch_of(RNG.normal(100.0, 10.0, (200, 1)))
    narrow = batch_of(RNG.normal(50.0, 2.0, (200, 1)))
    spread = spread_ratio(wide, narrow)
    assert spread.low < 5.0 < spread.high
    assert spread.low > 2.0
    mean = mean_ratio(wide.final, narrow.final)
    assert mean.low < 2.0 < mean.high
    assert mean.low > 1.8
