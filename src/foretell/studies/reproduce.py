"""Running studies and writing their report: figures, tables, verdicts and one page."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretell.progress import progress_bar
from foretell.sim import Batches
from foretell.studies.cells import CellStore
from foretell.studies.claim import Results
from foretell.studies.plan import FinishedStudy, StudyPlan
from foretell.studies.runner import run_cells, sweep_cells

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path


def run_studies(
    studies: list[StudyPlan],
    out: Path | None,
    *,
    runs: int = 50,
    seed: int = 0,
    fresh: bool = False,
    title: str = "The paper, reproduced",
    cache: Path | None = None,
    cluster: str | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> list[FinishedStudy]:
    """Run the studies, write everything under `out`, and return what was found.

    Figures (PNG and SVG), tables (CSV) and the page `index.html` are written as soon as a study
    is finished, so that an interrupted call leaves what is done; without `out` nothing is.
    Finished cells are kept in `cache` (by default the user's) and not run again unless `fresh`.
    On a `cluster` the cells of all studies are run first.
    """
    store = CellStore(cache)
    if cluster is not None:
        cells = [cell for study in studies for cell in study.cells(runs, seed)]
        sweep_cells(cells, store, cluster, fresh=fresh, progress=progress)
        fresh = False
    finished: list[FinishedStudy] = []
    for study in studies:
        begun = time.monotonic()
        runner = _StudyRunner(study, runs, seed, store, fresh, threads, progress)
        results = runner.run([panel.name for panel in study.panels], what=study.title)
        finished.append(
            FinishedStudy(
                study,
                results,
                study.charts(results),
                study.tables(results),
                study.verdicts(results, runner.run),
                time.monotonic() - begun,
                study.explorer(results) if study.explorer else None,
            )
        )
        if out is not None:
            _write(finished, out, title=title, runs=runs, seed=seed)
    return finished


@dataclass(frozen=True)
class _StudyRunner:
    """Runs the panels of a study, as often as its claims need."""

    study: StudyPlan
    runs: int
    seed: int
    store: CellStore
    fresh: bool
    threads: int | None
    progress: bool | None

    def run(
        self, names: Collection[str], times: int = 1, *, what: str = "More runs for open claims"
    ) -> Results:
        """Run the panels of these names, with so many times their runs."""
        panels = [panel for panel in self.study.panels if panel.name in names]
        cells = {panel.name: panel.cells(self.runs, self.seed, times) for panel in panels}
        total = sum(cell.work for part in cells.values() for cell in part)
        results: Results = {}
        with progress_bar(what, total, shown=self.progress) as advance:
            for name, part in cells.items():
                done = run_cells(
                    part, self.store, threads=self.threads, fresh=self.fresh, advance=advance
                )
                results[name] = Batches({str(one.batch.spec): one.batch for one in done})
        return results


def _write(finished: list[FinishedStudy], out: Path, *, title: str, runs: int, seed: int) -> None:
    """Write the figures and tables of the last study, and the page of all."""
    from foretell.studies.plots import draw
    from foretell.studies.report import write_report
    from foretell.studies.tables import verdict_table

    out.mkdir(parents=True, exist_ok=True)
    last = finished[-1]
    for chart in last.charts:
        draw(chart, out)
    for table in last.tables:
        table.to_csv(out / f"{last.study.name}-{table.name}.csv")
    if any(one.verdicts for one in finished):
        verdict_table(finished).to_csv(out / "claims.csv")
    write_report(finished, out / "index.html", title=title, runs=runs, seed=seed)
