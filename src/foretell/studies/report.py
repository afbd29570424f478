"""The report: one self-contained page that works offline, and prints.

Charts are inline SVG; where scripts run they become interactive (values under the pointer,
policies on and off, linear or logarithmic), drawn by uPlot, which is part of the page.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, get_args

from foretell.files import write_whole
from foretell.pages import render
from foretell.sim.own_sources import own_digests
from foretell.sim.provenance import provenance
from foretell.studies.claim import Group
from foretell.studies.paper import STUDIES
from foretell.studies.paper.errata import ERRATA
from foretell.studies.sentences import in_words, sentences

if TYPE_CHECKING:
    from pathlib import Path

    from foretell.studies.charts import Chart, Series
    from foretell.studies.plan import FinishedStudy, StudyPlan

FRONT = "fig3"
"""The figure that stands on the front page of the paper's report."""


def write_report(
    finished: list[FinishedStudy], path: Path, *, title: str, runs: int, seed: int
) -> None:
    """Write the page of all finished studies; the figures are next to it as SVG.

    Where one of them is a study of the paper, the page begins with what the paper is about and
    what was found, and ends with its remarks, its misprints and what the words of the claims mean.
    """
    verdicts = [verdict for one in finished for verdict in one.verdicts]
    groups = {group: sentences(verdicts, group) for group in get_args(Group)}
    charts = {chart.name: chart for one in finished for chart in one.charts}
    of_paper = any(_is_of_paper(one.study) for one in finished)
    page = render(
        "paper_report.html" if of_paper else "report.html",
        title=title,
        runs=runs,
        seed=seed,
        seconds=sum(one.seconds for one in finished),
        groups=groups,
        counts={group: in_words(tested) for group, tested in groups.items()},
        definitions=dict.fromkeys(verdict.claim.definition for verdict in verdicts),
        errata=ERRATA if of_paper else (),
        front=charts.get(FRONT) if of_paper else None,
        on_front=(FRONT, *(one.explorer.name for one in finished if one.explorer))
        if of_paper
        else (),
        finished=finished,
        drawings={name: _drawing(chart, path.parent) for name, chart in charts.items()},
        data={name: _chart_data(chart) for name, chart in charts.items()},
        provenance=_provenance(finished),
    )
    write_whole(path, lambda file: file.write(page.encode()))


def _is_of_paper(study: StudyPlan) -> bool:
    """Return whether this is a study of the paper, with guests or without."""
    return study.name in STUDIES and STUDIES[study.name].charts is study.charts


def _provenance(finished: list[FinishedStudy]) -> dict[str, str]:
    """Return versions and source, and the digests of the files of users' own policies."""
    batches = [
        batch for one in finished for panel in one.results.values() for batch in panel.values()
    ]
    own = [batch for batch in batches if not type(batch.spec).__module__.startswith("foretell.")]
    made = provenance()
    for batch in own:
        made |= own_digests(batch.spec, batch.scenario, batch.horizon) or {}
    return made


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
