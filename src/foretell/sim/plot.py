"""The regret of batches as a figure, in the style of the paper's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from foretell.errors import MissingExtra
from foretell.sim.legend import short_labels, styles

if TYPE_CHECKING:
    from foretell.sim.result import Batches

MOST_MARKS = 20
"""Changes up to which each is drawn."""
LEGEND_COLUMNS = 2


def plot_regret(batches: Batches, axes: Any = None, level: float = 0.95) -> Any:
    """Draw the mean regret of every policy with its interval, and return the axes."""
    try:
        import matplotlib as mpl
        from matplotlib import pyplot as plt

        from foretell.sim import figure_style
    except ImportError:
        raise MissingExtra(
            "a figure needs matplotlib, which is not installed: pip install 'foretell[lab]'"
        ) from None
    with mpl.rc_context(figure_style.LOOK):
        new = axes is None
        if new:
            height = figure_style.figure_height(len(batches), LEGEND_COLUMNS)
            _, axes = plt.subplots(figsize=(figure_style.COLUMN_WIDTH, height))
        labels = short_labels(batches)
        for (name, batch), style in zip(batches.items(), styles(list(batches)), strict=True):
            low, high = batch.interval(level)
            x = batch.rounds.astype(np.float64) + 1.0
            figure_style.draw_line(
                axes,
                x,
                batch.mean(),
                (low, high),
                style,
                labels[name],
            )
        for change in shared_changes(batches):
            figure_style.draw_mark(axes, float(change))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("round")
        axes.set_ylabel("regret")
        figure_style.round_ticks(axes.xaxis)
        figure_style.round_ticks(axes.yaxis)
        if new:
            axes.figure.legend(loc="outside lower center", ncols=LEGEND_COLUMNS)
        else:
            axes.legend()
    return axes


def shared_changes(batches: Batches) -> list[int]:
    """Return the changes that all runs have; none where they differ or are too many to draw."""
    first = next(iter(batches.values())).changes[0]
    if first.size > MOST_MARKS:
        return []
    for batch in batches.values():
        if not all(np.array_equal(changes, first) for changes in batch.changes):
            return []
    return [int(change) for change in first]
