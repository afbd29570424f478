"""The report: one page that stands alone, works offline, and prints.

Charts are inline SVG; where scripts run they become interactive (values under the pointer,
policies on and off, linear or logarithmic), drawn by uPlot, which is part of the page.
"""

from __future__ import annotations

import html
import json
import math
import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from foretell.files import write_whole
from foretell.sim.provenance import provenance
from foretell.studies.paper.errata import ERRATA

if TYPE_CHECKING:
    from pathlib import Path

    from foretell.studies.charts import Chart, Series
    from foretell.studies.reproduce import Finished
    from foretell.studies.study import Verdict
    from foretell.studies.tables import Table


def write_report(finished: list[Finished], path: Path, *, title: str, runs: int, seed: int) -> None:
    """Write the page of all finished studies; the figures stand beside it as SVG."""
    made_by = provenance()
    page = _asset("report.html")
    parts = {
        "title": html.escape(title),
        "css": _asset("uPlot.min.css") + _asset("report.css"),
        "uplot": _asset("uPlot.iife.min.js"),
        "script": _asset("report.js"),
        "summary": _summary(finished, runs, seed),
        "claims": _claims(finished) + _errata(finished),
        "contents": "".join(
            f'<li><a href="#{one.study.name}">{html.escape(one.study.title)}</a></li>'
            for one in finished
        ),
        "studies": "".join(_study(one, path.parent) for one in finished),
        "provenance": html.escape(
            ", ".join(f"{name} {version}" for name, version in sorted(made_by.items()))
        ),
        "data": json.dumps(
            {chart.name: _chart_data(chart) for one in finished for chart in one.charts}
        ).replace("</", "<\\/"),
    }
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    write_whole(path, lambda file: file.write(page.encode()))


def _asset(name: str) -> str:
    return resources.files("foretell.pages").joinpath(name).read_text("utf-8")


def _summary(finished: list[Finished], runs: int, seed: int) -> str:
    words = [verdict.word for one in finished for verdict in one.verdicts]
    counts = ", ".join(
        f"<strong>{words.count(word)}</strong> {word}"
        for word in ("supported", "not supported", "undecided")
        if words.count(word)
    )
    seconds = sum(one.seconds for one in finished)
    claims = f"{len(words)} claims: {counts}. " if words else ""
    return (
        f"{claims}{runs} runs each (fewer where a horizon is very long), seed {seed}, "
        f"{seconds:.0f} s. Regret is the dynamic pseudo-regret; bands and brackets are 95 % "
        f"intervals over runs; comparisons are paired."
    )


def _claims(finished: list[Finished]) -> str:
    rows = "".join(_claim_row(verdict) for one in finished for verdict in one.verdicts)
    if not rows:
        return ""
    return (
        "<h2>Claims</h2><p>Each claim is decided by a check that was fixed before it was run. The "
        "same check is put to a control, runs of which the claim is false, and must refuse "
        "it.</p><div class=scroll><table class=claims><thead><tr><th>claim</th><th>verdict</th>"
        f"<th>measured</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _claim_row(verdict: Verdict) -> str:
    claim = verdict.claim
    kind = verdict.word.replace(" ", "-")
    control = "refused" if not verdict.control.holds else "NOT refused"
    return (
        f'<tr id="claim-{claim.name}"><td><p>{html.escape(claim.words)}</p><p class=quiet>'
        f"{html.escape(claim.source)}</p></td><td><span class='verdict {kind}'>{verdict.word}"
        f"</span></td><td><p>{_lines(verdict.finding.measured)}</p><details><summary>definition "
        f"and control</summary><p>{html.escape(claim.definition)}.</p><p>Control ({control}): "
        f"{_lines(verdict.control.measured)}</p></details></td></tr>"
    )


def _errata(finished: list[Finished]) -> str:
    """List where the paper is in error, if these are studies of the paper."""
    from foretell.studies.paper import STUDIES

    if not any(STUDIES.get(one.study.name) is one.study for one in finished):
        return ""
    rows = "".join(
        f'<tr id="erratum-{html.escape(one.id)}"><td><p>{html.escape(one.printed)}</p>'
        f"<p class=quiet>{html.escape(f'{one.id}: {one.where}')}</p></td>"
        f"<td>{html.escape(one.reading)}</td><td>{html.escape(one.consequence)}</td></tr>"
        for one in ERRATA
    )
    return (
        "<h2 id=errata>Where the paper’s text is in error</h2><p>Misprints, wrong statements and "
        "silences that matter to the experiments, and how they are read here. The full list is in "
        "docs/errata.md.</p><div class=scroll><table class=claims><thead><tr><th>in the paper</th>"
        f"<th>read as</th><th>what it changes</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _lines(text: str) -> str:
    return "<br>".join(html.escape(part) for part in text.split("; "))


def _study(one: Finished, folder: Path) -> str:
    charts = "".join(_figure(chart, folder) for chart in one.charts)
    tables = "".join(_table(table, one.study.name) for table in one.tables)
    return (
        f'<section id="{one.study.name}"><h2>{html.escape(one.study.title)}</h2>'
        f"<p>{html.escape(one.study.about)}</p>{charts}{tables}</section>"
    )


def _figure(chart: Chart, folder: Path) -> str:
    svg = (folder / f"{chart.name}.svg").read_text("utf-8")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'\b(id="|url\(#|xlink:href="#)', rf"\g<1>{chart.name}-", svg)
    return (
        f'<figure data-chart="{chart.name}"><div class=still>{svg}</div>'
        f"<figcaption><strong>{html.escape(chart.title)}.</strong> {html.escape(chart.caption)} "
        f'<span class=files><a href="{chart.name}.png">PNG</a> <a href="{chart.name}.svg">SVG</a>'
        f"</span></figcaption></figure>"
    )


def _table(table: Table, study: str) -> str:
    head = "".join(f"<th>{html.escape(column)}</th>" for column in table.columns)
    body = "".join(
        "<tr>" + "".join(_table_cell(value) for value in row) + "</tr>" for row in table.rows
    )
    return (
        f"<details class=table><summary>{html.escape(table.title)} "
        f'<a href="{study}-{table.name}.csv">CSV</a></summary><div class=scroll><table><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div></details>"
    )


def _table_cell(value: str | float) -> str:
    if isinstance(value, str):
        return f"<td>{html.escape(value)}</td>"
    return f"<td class=number>{value:,}</td>"


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
    """Give five significant digits, which is more than a screen shows."""
    return float(f"{value:.5g}") if math.isfinite(value) else None
