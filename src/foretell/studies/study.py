"""A study: which runs, which pictures and tables, and which claims they are held against.

To add a study of the paper, write a module with a `STUDY` and list it in `studies.paper`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from foretell.studies.cells import Cell
from foretell.studies.tables import final_regret_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretell.policies import Spec
    from foretell.sim import Batches
    from foretell.studies.charts import Chart
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

    def cells(self, runs: int, seed: int) -> list[Cell]:
        """Return the cells to run, one per policy."""
        wanted = runs if self.most_runs is None else min(runs, self.most_runs)
        return [
            Cell(spec, self.scenario, self.horizon, wanted, seed, self.checkpoints)
            for spec in self.specs
        ]


Results: TypeAlias = "dict[str, Batches]"
"""The batches of each panel, by its name."""


@dataclass(frozen=True)
class Finding:
    """What a check found: whether the claim holds on these runs, and the numbers it saw."""

    holds: bool
    measured: str


@dataclass(frozen=True)
class Claim:
    """A sentence about results, and the check that decides it.

    The same check is put to the `subject`, the runs the sentence is about, and to a `control`:
    runs of which the sentence is false. A check that cannot tell the two apart is no check.
    """

    name: str
    words: str
    """The sentence, in our words."""
    source: str
    """Where it stands in the paper."""
    definition: str
    """What is counted as true, fixed before it is run."""
    check: Callable[[Any], Finding]
    subject: Callable[[Results], Any]
    control: Callable[[Results], Any]


@dataclass(frozen=True)
class Verdict:
    """A claim, decided."""

    claim: Claim
    finding: Finding
    control: Finding

    @property
    def word(self) -> str:
        """`supported` or `not supported`; `undecided` where the control passes, too."""
        if self.control.holds:
            return "undecided"
        return "supported" if self.finding.holds else "not supported"


@dataclass(frozen=True)
class Study:
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

    def verdicts(self, results: Results) -> list[Verdict]:
        """Decide every claim."""
        return [
            Verdict(claim, claim.check(claim.subject(results)), claim.check(claim.control(results)))
            for claim in self.claims
        ]


@dataclass(frozen=True)
class FinishedStudy:
    """A study that was run: what it shows and what it decided."""

    study: Study
    charts: list[Chart]
    tables: list[ReportTable]
    verdicts: list[Verdict]
    seconds: float
