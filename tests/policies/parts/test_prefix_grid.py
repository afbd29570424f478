"""The splits of the grid: complete near, geometric far."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from foretell.policies.parts.prefix_grid import GRID_WIDTH
from tests.reference.baselines import splits


@given(st.integers(0, 5000))
def test_the_grid_is_complete_near_and_geometric_far(length: int) -> None:
    found = [moment for moment, _ in splits(length)]
    ages = [length - moment for moment in found]
    assert ages == sorted(set(ages))
    assert found[: GRID_WIDTH - 1] == list(range(length - 1, max(0, length - GRID_WIDTH), -1))
    assert len(found) <= GRID_WIDTH * (1 + max(0, math.log2(length + 1) - 2))
    for one, other in itertools.pairwise(ages):
        assert other - one <= max(1, one / (GRID_WIDTH / 2 - 1))
