"""How figures look, in print and in notebooks: lines with bands, marks, and exact ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

if TYPE_CHECKING:
    from foretell.sim.legend import Style
    from foretell.types import Floats

LOOK: Any = {
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
COLUMN_WIDTH = 3.5
"""Inches of a figure in a column of print."""


def figure_height(labels: int, legend_columns: int) -> float:
    """Return the height of a figure whose legend is below it."""
    return 2.3 + 0.19 * -(-labels // legend_columns)


def draw_line(
    axes: Any,
    x: Floats,
    y: Floats,
    band: tuple[Floats, Floats],
    style: Style,
    label: str,
    *,
    points: bool = False,
) -> None:
    """Draw a line with its band, and with a point at every x where there are few."""
    dash: Any = (0, style.dash) if style.dash else "solid"
    axes.fill_between(x, *band, color=style.colour, alpha=0.18, linewidth=0)
    axes.plot(
        x,
        y,
        color=style.colour,
        linestyle=dash,
        label=label,
        marker="o" if points else None,
        markersize=3,
    )


def draw_mark(axes: Any, x: float, word: str = "") -> None:
    """Draw a vertical line, with a word at its top where there is one."""
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


def exact_label(value: float) -> str:
    """Write a tick as it is: no digit is rounded away; whole millions are short.

    >>> exact_label(1250.0), exact_label(0.2), exact_label(20_000_000.0)
    ('1,250', '0.2', '20M')
    """
    if abs(value) >= 1e6 and value % 1e5 == 0:
        return f"{value / 1e6:g}M"
    return f"{value:,.10g}"


def round_ticks(axis: Any, *, log: bool = False) -> None:
    """Put ticks at round numbers, on a log axis at 1, 2 and 5 where they fit."""
    if log:
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 160 * low else (1,)))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: exact_label(value)))
