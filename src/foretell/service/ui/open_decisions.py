"""Open decisions by their age, from the periods of a campaign."""

from __future__ import annotations

from typing import NamedTuple

from foretell import protocol
from foretell.service.reports.words import span
from foretell.service.ui.charts import seconds

PARTS = 4
"""Into so many ages the reward window is divided."""


class OpenAge(NamedTuple):
    """The decisions of one age."""

    label: str
    decisions: int
    settled: int
    open: int


def open_by_age(series: protocol.Timeseries, window: float) -> list[OpenAge]:
    """Return how many decisions of each age wait for their reward, the youngest first.

    A period belongs to the age of its end. Ages in which nothing was decided are left out.
    """
    now, total = seconds(series.as_of), series.total
    parts = [[0, 0] for _ in range(PARTS + 1)]
    for index, at in enumerate(series.at):
        age = max(0.0, now - seconds(at) - series.width)
        part = parts[min(int(PARTS * age / window), PARTS)]
        part[0] += total.decisions[index] - total.voids[index]
        part[1] += total.rewards[index]
    rows = []
    for number, (decided, settled) in enumerate(parts):
        low, high = span(number * window / PARTS), span((number + 1) * window / PARTS)
        label = f"up to {high}" if not number else f"over {low}"
        if 0 < number < PARTS:
            label = f"{low} to {high}"
        if decided:
            rows.append(OpenAge(label, decided, settled, max(0, decided - settled)))
    return rows
