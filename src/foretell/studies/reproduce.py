"""Running studies and writing their report: figures, tables, verdicts and one page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from foretell.progress import progress_bar
from foretell.sim import Batches
from foretell.studies.cells import CellStore
from foretell.studies.plots import draw
from foretell.studies.report import write_report
from foretell.studies.runner import run_cells
from foretell.studies.study import FinishedStudy, Results, Study
from foretell.studies.tables import verdict_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def run_studies(
    studies: list[Study],
    out: Path,
    *,
    runs: int = 50,
    seed: int = 0,
    fresh: bool = False,
    title: str = "The paper, reproduced",
    cache: Path | None = None,
) -> list[FinishedStudy]:
    """Run the studies, write everything under `out`, and return what was found.

    Figures (PNG and SVG), tables (CSV) and the page `index.html` are written as soon as a study
    is finished, so that an interrupted call leaves what is done. Finished cells are kept in
    `cache` (by default the user's) and not run again unless `fresh`.
    """
    out.mkdir(parents=True, exist_ok=True)
    store = CellStore(cache)
    finished: list[FinishedStudy] = []
    for study in studies:
        begun = time.monotonic()
        with progress_bar(study.title, sum(len(panel.specs) for panel in study.panels)) as advance:
            results = _run_panels(study, runs, seed, store, fresh=fresh, advance=advance)
            one = FinishedStudy(
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


def _run_panels(
    study: Study,
    runs: int,
    seed: int,
    store: CellStore,
    *,
    fresh: bool,
    advance: Callable[[int], None],
) -> Results:
    results: Results = {}
    for panel in study.panels:
        cells = run_cells(panel.cells(runs, seed), store, fresh=fresh, advance=advance)
        results[panel.name] = Batches({str(one.batch.spec): one.batch for one in cells})
    return results
