"""Running studies and writing their report: figures, tables, verdicts and one page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foretell.progress import progress_bar
from foretell.studies.cells import run_panels
from foretell.studies.plots import draw
from foretell.studies.report import write_report
from foretell.studies.tables import Table

if TYPE_CHECKING:
    from foretell.studies.charts import Chart
    from foretell.studies.study import Study, Verdict


@dataclass(frozen=True)
class Finished:
    """A study that was run: what it shows and what it decided."""

    study: Study
    charts: list[Chart]
    tables: list[Table]
    verdicts: list[Verdict]
    seconds: float


def reproduce(
    studies: list[Study],
    out: Path,
    *,
    runs: int = 50,
    seed: int = 0,
    fresh: bool = False,
    title: str = "The paper, reproduced",
) -> list[Finished]:
    """Run the studies, write everything under `out`, and give what was found.

    Figures (PNG and SVG), tables (CSV) and the page `index.html` are written as soon as a study
    is finished, so that an interrupted call leaves what is done.
    """
    out.mkdir(parents=True, exist_ok=True)
    finished: list[Finished] = []
    for study in studies:
        begun = time.monotonic()
        cells = sum(len(panel.specs) for panel in study.panels)
        with progress_bar(study.title, cells) as advance:
            results = run_panels(study.panels, runs, seed, fresh=fresh, advance=advance)
            one = Finished(
                study,
                study.charts(results),
                study.tables(results),
                study.verdicts(results),
                time.monotonic() - begun,
            )
        for chart in one.charts:
            draw(chart, out)
        for table in one.tables:
            table.to_csv(out / f"{study.name}-{table.name}.csv")
        finished.append(one)
        if any(one.verdicts for one in finished):
            verdict_table(finished).to_csv(out / "claims.csv")
        write_report(finished, out / "index.html", title=title, runs=runs, seed=seed)
    return finished


def verdict_table(finished: list[Finished]) -> Table:
    """List every claim with its verdict and its numbers."""
    rows = tuple(
        (
            one.study.name,
            verdict.claim.name,
            verdict.claim.words,
            verdict.claim.source,
            verdict.word,
            verdict.finding.measured,
            verdict.claim.definition,
            "not supported" if not verdict.control.holds else "supported",
            verdict.control.measured,
        )
        for one in finished
        for verdict in one.verdicts
    )
    columns = (
        "study",
        "claim",
        "words",
        "source",
        "verdict",
        "measured",
        "definition",
        "control",
        "control measured",
    )
    return Table("claims", "Claims", columns, rows)
