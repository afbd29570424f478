"""The report: one self-contained page that works offline, and prints.

Charts are inline SVG; where scripts run they become interactive (values under the pointer,
policies on and off, linear or logarithmic), drawn by uPlot, which is part of the page.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from foretell.files import write_whole
from foretell.pages import render
from foretell.sim.provenance import provenance
from foretell.studies.paper import STUDIES
from foretell.studies.paper.errata import ERRATA

if TYPE_CHECKING:
    from pathlib import Path

    from foretell.studies.charts import Chart, Series
    from foretell.studies.study import FinishedStudy

WORDS = ("supported", "not supported", "undecided")


def write_report(
    finished: list[FinishedStudy], path: Path, *, title: str, runs: int, seed: int
) -> None:
    """Write the page of all finished studies; the figures are next to it as SVG.

    Where one of them is a study of the paper, the page lists the paper's errata.
    """
    verdicts = [verdict for one in finished for verdict in one.verdicts]
    counts = {word: sum(verdict.word == word for verdict in verdicts) for word in WORDS}
    charts = [chart for one in finished for chart in one.charts]
    of_paper = any(STUDIES.get(one.study.name) is one.study for one in finished)
    page = render(
        "report.html",
        title=title,
        runs=runs,
        seed=seed,
        seconds=sum(one.seconds for one in finished),
        verdicts=verdicts,
        counts={word: count for word, count in counts.items() if count},
        errata=ERRATA if of_paper else (),
        finished=finished,
        drawings={chart.name: _drawing(chart, path.parent) for chart in charts},
        data={chart.name: _chart_data(chart) for chart in charts},
        provenance=provenance(),
    )
    write_whole(path, lambda file: file.write(page.encode()))


def _drawing(chart: Chart, folder: Path) -> str:
    """Return the SVG of a chart, its ids made unique among those of the page."""
    svg = (folder / f"{chart.name}.svg").read_text("utf-8")
    return re.sub(
        r'\b(id="|url\(#|xlink:href="#)', rf"\g<1>{chart.name}-", svg[svg.index("<svg") :]
    )


def _chart_data(chart: Chart) -> dict[str, Any]:
    return {
        "logX": chart.log_x,
        "logY": chart.log_y,
        "points": chart.points,
        "axes": [
            {
                "title": axes.title,
                "x": axes.x_label,
                "y": axes.y_label,
                "marks": [[_short(x), word] for x, word in axes.marks],
                "series": [_series_data(series) for series in axes.series],
            }
            for axes in chart.axes
        ],
    }


def _series_data(series: Series) -> dict[str, Any]:
    return {
        "label": series.label,
        "colour": series.style.colour,
        "dash": list(series.style.dash),
        "x": [_short(value) for value in series.x],
        "y": [_short(value) for value in series.y],
        "low": [_short(value) for value in series.low],
        "high": [_short(value) for value in series.high],
    }


def _short(value: float) -> float | None:
    """Return five significant digits, which is more than a screen shows."""
    return float(f"{value:.5g}") if math.isfinite(value) else None
