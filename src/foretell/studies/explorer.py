"""A figure to explore: sliders that move through a grid of cells, all of them run beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from foretell.sim.legend import Style
from foretell.stats.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.sim import Batch


@dataclass(frozen=True)
class Slider:
    """One thing that can be set: its name, its values, and the one it begins with."""

    name: str
    values: tuple[int, ...]
    start: int


@dataclass(frozen=True)
class Row:
    """One line of the figure; `follows` are the sliders that it depends on."""

    label: str
    style: Style
    follows: tuple[str, ...]
    batch: Callable[[dict[str, int]], Batch]


@dataclass(frozen=True)
class Explorer:
    """Final regret by row, for every place of the sliders."""

    name: str
    title: str
    caption: str
    sliders: tuple[Slider, ...]
    rows: tuple[Row, ...]

    def data(self) -> dict[str, Any]:
        """Return what the page needs: for each row the mean and interval at its own places.

        The key of a place joins the values of the sliders that the row follows with commas.
        """
        return {
            "sliders": [
                {"name": one.name, "values": one.values, "start": one.values.index(one.start)}
                for one in self.sliders
            ],
            "rows": [
                {
                    "label": row.label,
                    "colour": row.style.colour,
                    "follows": row.follows,
                    "cells": self._cells(row),
                }
                for row in self.rows
            ],
        }

    def _cells(self, row: Row) -> dict[str, list[float]]:
        followed = [one for one in self.sliders if one.name in row.follows]
        cells = {}
        for values in product(*(one.values for one in followed)):
            place = dict(zip((one.name for one in followed), values, strict=True))
            estimate = Estimate.of(row.batch(place).final)
            cells[",".join(map(str, values))] = [float(f"{number:.4g}") for number in estimate]
        return cells
