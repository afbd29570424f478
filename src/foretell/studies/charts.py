"""What a picture shows, before anybody draws it: the same data for print and for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretell.sim.legend import Style, styles
from foretell.stats.intervals import mean_interval

if TYPE_CHECKING:
    from foretell.sim import Batches
    from foretell.types import Floats

MOST_POINTS = 200


@dataclass(frozen=True)
class Series:
    """A line with its band."""

    label: str
    style: Style
    x: Floats
    y: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Axes:
    """One pair of axes."""

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    marks: tuple[tuple[float, str], ...] = ()
    """Vertical lines with a word each (an empty word for none): changes, suggested values."""


@dataclass(frozen=True)
class Chart:
    """A figure: one or more axes side by side."""

    name: str
    title: str
    caption: str
    axes: tuple[Axes, ...]
    log_y: bool = False
    log_x: bool = False
    points: bool = False
    """The x values are few and chosen: mark each."""


def regret_axes(
    title: str,
    batches: Batches,
    changes: tuple[int, ...] = (),
    labels: dict[str, str] | None = None,
) -> Axes:
    """Return the regret curves of some policies with their 95 % bands and the change points."""
    series = []
    for (name, batch), style in zip(batches.items(), styles(list(batches)), strict=True):
        keep = np.unique(np.linspace(0, len(batch.rounds) - 1, MOST_POINTS).astype(int))
        low, high = batch.interval()
        series.append(
            Series(
                (labels or {}).get(name, name),
                style,
                batch.rounds[keep] + 1.0,
                batch.mean()[keep],
                low[keep],
                high[keep],
            )
        )
    marks = tuple((float(change), "") for change in changes)
    return Axes(title, "round", "regret", tuple(series), marks)


def sweep_series(label: str, style: Style, x: list[float], samples: list[Floats]) -> Series:
    """Return a line through the means of one sample (over runs) per x, with 95 % bands."""
    bands = np.array([mean_interval(sample) for sample in samples])
    means = np.array([float(sample.mean()) for sample in samples])
    return Series(label, style, np.array(x, float), means, bands[:, 0], bands[:, 1])
