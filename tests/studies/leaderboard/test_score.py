"""Scores: yardsticks that are not flattered by their luck, ratios and means."""

from __future__ import annotations

import numpy as np
import pytest

from foretell.errors import InvalidInput
from foretell.studies.leaderboard.score import cross_fitted, geometric_mean


def test_the_yardstick_does_not_choose_on_what_it_measures() -> None:
    rng = np.random.default_rng(0)
    family = {str(n): rng.normal(100, 10, 2000) for n in range(50)}
    fitted = cross_fitted(family)
    chosen_in_sample = min(float(regret.mean()) for regret in family.values())
    assert abs(fitted.regret.mean() - 100) < 1.0
    assert chosen_in_sample < fitted.regret.mean()
    with pytest.raises(InvalidInput, match="at least 4 runs"):
        cross_fitted({"a": np.ones(3)})


def test_the_geometric_mean_leaves_out_what_is_not_there() -> None:
    assert geometric_mean([1.0, 4.0, None]) == 2.0
    assert geometric_mean([]) is None
