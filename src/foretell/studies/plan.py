"""The plan of a study: its runs, its pictures and tables, and the claims they are held against.

To add a study of the paper, write a module with a `STUDY` and list it in `studies.paper`. A user's
own plan is made by `foretell.Study`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from foretell.studies.cells import Cell
from foretell.studies.claim import decide
from foretell.studies.tables import final_regret_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foretell.policies import Spec
    from foretell.studies.charts import Chart
    from foretell.studies.claim import Claim, MoreRuns, Results, Verdict
    from foretell.studies.explorer import Explorer
    from foretell.studies.tables import ReportTable
    from foretell.worlds import Scenario


@dataclass(frozen=True)
class Panel:
    """Policies that meet in one scenario: the runs behind one picture."""

    name: str
    scenario: Scenario
    specs: tuple[Spec, ...]
    horizon: int
    most_runs: int | None = None
    """A long panel is content with fewer runs than are asked for."""
    checkpoints: tuple[int, ...] | None = None
    """The rounds after which the regret is written; None is up to 1,000, evenly spaced."""

    def cells(self, runs: int, seed: int, times: int = 1) -> list[Cell]:
        """Return the cells to run, one per policy; with so many times their runs."""
        wanted = times * (runs if self.most_runs is None else min(runs, self.most_runs))
        return [
            Cell(spec, self.scenario, self.horizon, wanted, seed, self.checkpoints)
            for spec in self.specs
        ]


@dataclass(frozen=True)
class StudyPlan:
    """Runs, pictures, tables and claims under one name."""

    name: str
    title: str
    about: str
    panels: tuple[Panel, ...]
    charts: Callable[[Results], list[Chart]]
    claims: tuple[Claim, ...] = ()
    tables: Callable[[Results], list[ReportTable]] = field(
        default=lambda r: [final_regret_table(r)]
    )
    explorer: Callable[[Results], Explorer] | None = None
    """A figure with sliders, made of the results."""

    def cells(self, runs: int, seed: int) -> list[Cell]:
        """Return the cells of all panels."""
        return [cell for panel in self.panels for cell in panel.cells(runs, seed)]

    def with_policies(self, guests: Sequence[Spec]) -> StudyPlan:
        """Return the same study with other policies in every panel, too."""
        panels = tuple(
            replace(panel, specs=tuple(dict.fromkeys([*panel.specs, *guests])))
            for panel in self.panels
        )
        return replace(self, panels=panels)

    def verdicts(self, results: Results, more_runs: MoreRuns) -> list[Verdict]:
        """Decide every claim; `more_runs` are taken for those that are undecided."""
        return [decide(claim, results, more_runs) for claim in self.claims]


@dataclass(frozen=True)
class FinishedStudy:
    """A study that was run: what it shows and what it decided."""

    study: StudyPlan
    results: Results
    """The batches, by panel and by printed spec."""
    charts: list[Chart]
    tables: list[ReportTable]
    verdicts: list[Verdict]
    seconds: float
    explorer: Explorer | None = None
