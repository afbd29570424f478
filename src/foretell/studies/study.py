"""`Study`: policies × scenarios × a grid of parameters, run and reported as the paper's are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretell.errors import InvalidInput
from foretell.policies import Spec
from foretell.sim.legend import short_labels
from foretell.studies.charts import Chart, regret_axes
from foretell.studies.grid import check_words, combinations, scenario_of, specs_of
from foretell.studies.plan import Panel, StudyPlan
from foretell.types import is_whole
from foretell.worlds import Scenario

if TYPE_CHECKING:
    import os

    from foretell.studies.cells import Cell
    from foretell.studies.claim import Claim, Results
    from foretell.studies.grid import Grid, PolicyUse, ScenarioUse
    from foretell.studies.plan import FinishedStudy

SIDE_BY_SIDE = 3
LEAST_RUNS = 2


@dataclass(frozen=True)
class Study:
    """Policies that meet in scenarios, for every combination of the grid's values.

    A policy is a text, a spec, or a function that makes one; a scenario is a name, a `Scenario`,
    a table as in a study file, or a function. A word in braces, or a parameter of a function,
    stands for each value of that word in the grid. Scenarios may be given by name, as a dictionary.

    >>> study = Study(
    ...     policies=["nsd-ucrl2(window={window})", "ucb"],
    ...     scenarios={"late": {"base": "paper", "delay": "{delay}"}},
    ...     grid={"window": [400, 800], "delay": [100, 500]},
    ...     horizon=8000,
    ... )
    >>> len(study.cells()), [panel.name for panel in study.plan().panels]
    (6, ['late, delay = 100', 'late, delay = 500'])
    """

    policies: Sequence[PolicyUse] | PolicyUse
    scenarios: Mapping[str, ScenarioUse] | Sequence[ScenarioUse] | ScenarioUse
    grid: Grid = field(default_factory=dict)
    horizon: int = 8000
    runs: int = 50
    seed: int = 0
    title: str = "A study"
    name: str = "study"
    claims: Sequence[Claim] = ()
    """What is decided on the results; `Study.plan().panels` says how panels are called."""
    log_scale: bool = False
    about: str = ""
    """A sentence for the report."""

    def __post_init__(self) -> None:
        """Refuse a study that cannot be run, before anything is."""
        if not is_whole(self.runs) or self.runs < LEAST_RUNS:
            raise InvalidInput(
                f"runs must be a whole number of at least {LEAST_RUNS}, got {self.runs!r}"
            )
        if not is_whole(self.seed) or self.seed < 0:
            raise InvalidInput(f"seed must be a whole number of at least 0, got {self.seed!r}")
        self.plan()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study from a TOML file, as `foretell run` does."""
        from foretell.studies.study_file import read_study

        return read_study(Path(path))

    def plan(self) -> StudyPlan:
        """Return what is run and shown: one panel for each scenario and combination."""
        policies, scenarios = self._policy_uses(), self._scenario_uses()
        if not policies or not scenarios:
            raise InvalidInput("a study needs at least one policy and one scenario: add one")
        check_words(self.grid, [*policies, *scenarios.values()])
        panels: dict[str, Panel] = {}
        for name, use in scenarios.items():
            for values in combinations(self.grid, use):
                shown = ", ".join(f"{word} = {value}" for word, value in values.items())
                title = f"{name}, {shown}" if shown else name
                made = scenario_of(use, values)
                made.check(self.horizon)
                specs = [spec for one in policies for spec in specs_of(one, self.grid, values)]
                panels[title] = Panel(title, made, tuple(dict.fromkeys(specs)), self.horizon)
        return StudyPlan(
            self.name,
            self.title,
            self.about or f"{len(panels)} scenarios of {self.horizon} rounds.",
            tuple(panels.values()),
            self._charts,
            tuple(self.claims),
        )

    def cells(self) -> list[Cell]:
        """Return the cells that are run: one policy in one scenario each."""
        return self.plan().cells(self.runs, self.seed)

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        cluster: str | None = None,
        threads: int | None = None,
        fresh: bool = False,
        cache: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> FinishedStudy:
        """Run the study; with `out` write its figures, tables and report there.

        Finished cells are kept in `cache` (by default the user's) and not run again unless
        `fresh`. `cluster` is the address of a Dask scheduler, or "local:N" for N processes here.
        """
        from foretell.studies.reproduce import run_studies

        (finished,) = run_studies(
            [self.plan()],
            None if out is None else Path(out),
            runs=self.runs,
            seed=self.seed,
            fresh=fresh,
            title=self.title,
            cache=None if cache is None else Path(cache),
            cluster=cluster,
            threads=threads,
            progress=progress,
        )
        return finished

    def _policy_uses(self) -> list[PolicyUse]:
        if isinstance(self.policies, (str, Spec)) or callable(self.policies):
            return [self.policies]
        return list(self.policies)

    def _scenario_uses(self) -> dict[str, ScenarioUse]:
        given: Any = self.scenarios
        if isinstance(given, (str, Scenario)) or callable(given):
            given = [given]
        if isinstance(given, Mapping):
            return dict(given)
        named: dict[str, ScenarioUse] = {}
        for number, use in enumerate(given, start=1):
            name = _name_of(use, number)
            if name in named:
                raise InvalidInput(
                    f"two scenarios are called {name!r}: give them by name, "
                    f"as scenarios={{name: scenario, …}}"
                )
            named[name] = use
        return named

    def _charts(self, results: Results) -> list[Chart]:
        names = list(results)
        groups = [names[i : i + SIDE_BY_SIDE] for i in range(0, len(names), SIDE_BY_SIDE)]
        return [
            Chart(
                f"figure-{number}",
                self.title if len(groups) == 1 else f"{self.title} ({number} of {len(groups)})",
                "Mean regret with 95 % bands. Dotted lines are the change points.",
                tuple(
                    regret_axes(
                        name, results[name], _changes(results, name), short_labels(results[name])
                    )
                    for name in group
                ),
                log_y=self.log_scale,
            )
            for number, group in enumerate(groups, start=1)
        ]


def _name_of(use: ScenarioUse, number: int) -> str:
    """Return what a scenario is called where it is given without a name."""
    if isinstance(use, str):
        return use
    if isinstance(use, Mapping):
        return str(use.get("name", use.get("base", f"scenario {number}")))
    return getattr(use, "__name__", f"scenario {number}")


def _changes(results: Results, name: str) -> tuple[int, ...]:
    """Return the change points that are the same in every run."""
    batch = next(iter(results[name].values()))
    made = batch.scenario
    when = getattr(made.changes, "when", None)
    listed: tuple[int, ...] = (when.at or ()) if when is not None else ()
    listed = listed or tuple(first for first, _ in made.segments[1:])
    return tuple(change for change in listed if change < batch.horizon)
