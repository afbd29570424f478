"""Growth: an exponent that sees a delay paid at every change; a problem stretched as a whole."""

from __future__ import annotations

import numpy as np

from foretell.studies.growth import FACTORS, Growth, all_grow_linearly
from foretell.studies.paper import STUDIES
from foretell.worlds import scenario, shifts
from foretell.worlds.paper import CHANGES

HORIZONS = tuple(8000 * factor for factor in FACTORS)
NOISE = np.random.default_rng(2).normal(1.0, 0.05, (len(FACTORS), 50))


def with_means(means: list[float]) -> Growth:
    finals = tuple(mean * noise for mean, noise in zip(means, NOISE, strict=True))
    return Growth("it", HORIZONS, finals)


def growing(exponent: float) -> Growth:
    return with_means([100.0 * (horizon / 8000) ** exponent for horizon in HORIZONS])


def test_the_exponent_is_found() -> None:
    for exponent in (0.3, 0.67, 1.0):
        found = growing(exponent).exponent()
        assert found.low < exponent < found.high
        assert found.high - found.low < 0.1


def test_linear_is_decided_at_nine_tenths() -> None:
    assert all_grow_linearly([growing(1.0), growing(1.2)]).holds
    assert all_grow_linearly([growing(0.9)]).holds is None
    assert all_grow_linearly([growing(0.7)]).holds is False
    assert all_grow_linearly([growing(1.0), growing(0.7)]).holds is False


def test_a_delay_at_every_change_is_linear_and_a_logarithm_is_not() -> None:
    """The share of a segment that is waited for stays, however well one learns after the wait."""
    waits = [0.5 * 0.265 * horizon + 10 * np.log(horizon) for horizon in HORIZONS]
    learns = [40 * np.log(horizon) for horizon in HORIZONS]
    assert all_grow_linearly([with_means(waits)]).holds
    assert all_grow_linearly([with_means(learns)]).holds is False


def test_segments_and_delay_are_stretched_with_the_horizon() -> None:
    panels = [one for one in STUDIES["fig3"].panels if one.name.startswith("D = 1000, ")]
    assert [panel.horizon for panel in panels] == list(HORIZONS)
    for panel, factor in zip(panels, FACTORS, strict=True):
        at = [factor * change for change in CHANGES]
        assert panel.scenario == scenario("paper", delay=1000 * factor, changes=shifts(at=at))
