"""Figures for print: PNG and SVG, readable at column width."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from foretell.sim.figure_style import (
    COLUMN_WIDTH,
    LOOK,
    draw_line,
    draw_mark,
    figure_height,
    round_ticks,
)

if TYPE_CHECKING:
    from pathlib import Path

    from foretell.studies.charts import Axes, Chart

_LEGEND_COLUMNS = 3
TITLE_WIDTH = 28


def draw(chart: Chart, folder: Path) -> None:
    """Write the chart as `<name>.png` and `<name>.svg`; text in the SVG can be selected."""
    with mpl.rc_context(LOOK):
        columns = len(chart.axes)
        width = COLUMN_WIDTH if columns == 1 else 2.5 * columns
        labels = {series.label for axes in chart.axes for series in axes.series}
        legend_columns = _LEGEND_COLUMNS if columns > 1 else 2
        figure = Figure(figsize=(width, figure_height(len(labels), legend_columns)))
        grid = figure.subplots(1, columns, squeeze=False, sharey=columns > 1)
        for index, (axes, drawn) in enumerate(zip(grid[0], chart.axes, strict=True)):
            _draw_axes(axes, drawn, chart, first=index == 0)
        if not chart.log_y:
            grid[0][0].set_ylim(bottom=0)
        handles: dict[str, Any] = {}
        for axes in grid[0]:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=legend_columns
        )
        figure.savefig(folder / f"{chart.name}.png", dpi=200)
        figure.savefig(folder / f"{chart.name}.svg", metadata={"Date": None})


def _draw_axes(axes: Any, drawn: Axes, chart: Chart, *, first: bool) -> None:
    for series in drawn.series:
        band = series.low, series.high
        draw_line(axes, series.x, series.y, band, series.style, series.label, points=chart.points)
    if chart.log_y:
        axes.set_yscale("log")
    if chart.log_x:
        axes.set_xscale("log")
    round_ticks(axes.xaxis, log=chart.log_x)
    round_ticks(axes.yaxis, log=chart.log_y)
    for x, word in drawn.marks:
        draw_mark(axes, x, word)
    axes.set_title(textwrap.fill(drawn.title, TITLE_WIDTH))
    axes.set_xlabel(drawn.x_label)
    if first:
        axes.set_ylabel(drawn.y_label)
