"""Figures for print: PNG and SVG, readable at column width."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

if TYPE_CHECKING:
    from pathlib import Path

    from foretell.studies.charts import Axes, Chart

_LOOK: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "foretell",
    "figure.constrained_layout.use": True,
}
_LEGEND_COLUMNS = 3
TITLE_WIDTH = 28


def draw(chart: Chart, folder: Path) -> None:
    """Write the chart as `<name>.png` and `<name>.svg`; text in the SVG can be selected."""
    with mpl.rc_context(_LOOK):
        columns = len(chart.axes)
        width = 3.5 if columns == 1 else 2.5 * columns
        labels = {series.label for axes in chart.axes for series in axes.series}
        legend_columns = _LEGEND_COLUMNS if columns > 1 else 2
        height = 2.3 + 0.19 * -(-len(labels) // legend_columns)
        figure, grid = plt.subplots(
            1, columns, figsize=(width, height), squeeze=False, sharey=columns > 1
        )
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
        plt.close(figure)


def exact_label(value: float) -> str:
    """Write a tick as it is: no digit is rounded away; whole millions are short.

    >>> exact_label(1250.0), exact_label(0.2), exact_label(20_000_000.0)
    ('1,250', '0.2', '20M')
    """
    if abs(value) >= 1e6 and value % 1e5 == 0:
        return f"{value / 1e6:g}M"
    return f"{value:,.10g}"


def _round_ticks(axis: Any, *, log: bool) -> None:
    """Put ticks at round numbers, on a log axis at 1, 2 and 5 where they fit."""
    if log:
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 160 * low else (1,)))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: exact_label(value)))


def _draw_axes(axes: Any, drawn: Axes, chart: Chart, *, first: bool) -> None:
    for series in drawn.series:
        dash: Any = (0, series.style.dash) if series.style.dash else "solid"
        axes.fill_between(
            series.x, series.low, series.high, color=series.style.colour, alpha=0.18, linewidth=0
        )
        axes.plot(
            series.x,
            series.y,
            color=series.style.colour,
            linestyle=dash,
            label=series.label,
            marker="o" if chart.points else None,
            markersize=3,
        )
    if chart.log_y:
        axes.set_yscale("log")
    if chart.log_x:
        axes.set_xscale("log")
    _round_ticks(axes.xaxis, log=chart.log_x)
    _round_ticks(axes.yaxis, log=chart.log_y)
    for x, word in drawn.marks:
        axes.axvline(x, color="#888888", linewidth=0.8, linestyle=(0, (1, 2)), zorder=0)
        if word:
            axes.annotate(
                word,
                (x, 0.98),
                xycoords=("data", "axes fraction"),
                rotation=90,
                va="top",
                ha="right",
                fontsize=6.5,
                color="#444444",
                bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.6},
            )
    axes.set_title(textwrap.fill(drawn.title, TITLE_WIDTH))
    axes.set_xlabel(drawn.x_label)
    if first:
        axes.set_ylabel(drawn.y_label)
